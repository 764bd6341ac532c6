package names

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// million is what a large list is made of, by default; see README.md.
const million = 1_000_000

// domains makes a list of n different names of sixteen bytes and a line's end.
func domains(n int) []byte {
	var b bytes.Buffer
	random := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		fmt.Fprintf(&b, "%c%c%c-%08d.net\n", 'a'+random.IntN(26), 'a'+random.IntN(26),
			'a'+random.IntN(26), i)
	}
	return b.Bytes()
}

// BenchmarkParse reads a person's file of five million domains.
func BenchmarkParse(b *testing.B) {
	text := domains(5 * million)
	for b.Loop() {
		if _, _, err := Parse(bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/5M")
}

// BenchmarkNew makes the table of five million domains, and says what it takes.
func BenchmarkNew(b *testing.B) {
	text := domains(5 * million)
	var l *List
	for b.Loop() {
		var err error
		if l, err = New(text); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/5M")
	b.ReportMetric(float64(len(l.text)+4*len(l.places)+len(l.tags))/(1<<20), "MiB")
	runtime.KeepAlive(l)
}

// BenchmarkMatch asks a list of five million domains for hosts in no order, half of
// which are on it.
func BenchmarkMatch(b *testing.B) {
	text := domains(5 * million)
	l, err := New(text)
	if err != nil {
		b.Fatal(err)
	}
	hosts := make([]string, 1<<20)
	random := rand.New(rand.NewPCG(5, 6))
	for i := range hosts {
		at := random.IntN(5*million) * 17
		hosts[i] = "www." + string(text[at:at+16])
		if i%2 == 0 {
			hosts[i] = "www.x" + hosts[i][5:]
		}
	}
	found, n := 0, 0
	for b.Loop() {
		if _, ok := l.Match(hosts[n&(1<<20-1)]); ok {
			found++
		}
		n++
	}
	if n > 1000 && (found < n/3 || found > 2*n/3) {
		b.Fatalf("%d of %d found", found, n)
	}
}
