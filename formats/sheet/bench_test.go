package sheet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"seine/formats/weburl"
)

const million = 1_000_000

// aMillion is CSV of a million sheets: seven in ten for domains, two for hosts, one for
// prefixes, of some ten thousand different settings.
func aMillion() []byte {
	var b bytes.Buffer
	random := rand.New(rand.NewPCG(3, 4))
	b.WriteString("for,max_depth,max_body,boost\n")
	for i := range million {
		name := fmt.Sprintf("d%07d.test", i)
		switch i % 10 {
		case 7, 8:
			name = "host:www." + name
		case 9:
			name = "www." + name + "/docs/"
		}
		fmt.Fprintf(&b, "%s,%d,%d,%.2f\n", name, random.IntN(10), 1024*(1+random.IntN(50)),
			float64(random.IntN(20))/20)
	}
	return b.Bytes()
}

func kept(b *testing.B, csv []byte) []byte {
	b.Helper()
	builder := &Builder{Suffixes: suffixes(b)}
	if err := builder.ReadCSV(bytes.NewReader(csv)); err != nil {
		b.Fatal(err)
	}
	text, _, err := builder.Encode()
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// BenchmarkRead reads and checks a person's file of a million sheets.
func BenchmarkRead(b *testing.B) {
	csv := aMillion()
	for b.Loop() {
		kept(b, csv)
	}
}

// BenchmarkOpen makes the table of a million sheets, and says what it takes.
func BenchmarkOpen(b *testing.B) {
	text := kept(b, aMillion())
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var t *Table
	for b.Loop() {
		var err error
		if t, err = Open(text); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
	runtime.KeepAlive(t)
	runtime.KeepAlive(text)
}

// asked are URLs of the domains of aMillion, in no order.
func asked(b *testing.B) []weburl.Normal {
	b.Helper()
	urls := make([]weburl.Normal, 1<<18)
	random := rand.New(rand.NewPCG(5, 6))
	for i := range urls {
		u, err := weburl.Normalize(fmt.Sprintf("http://www.d%07d.test/docs/%d", random.IntN(million), i),
			weburl.Options{})
		if err != nil {
			b.Fatal(err)
		}
		urls[i] = u
	}
	return urls
}

// BenchmarkMap asks a plain Go map of a million names what BenchmarkFor asks the sheets,
// a host and the names above it: what one would write who needs neither prefixes nor
// fields that are joined.
func BenchmarkMap(b *testing.B) {
	type values struct {
		depth, body int
		boost       float64
	}
	m := make(map[string]*values, million)
	for i := range million {
		m[fmt.Sprintf("d%07d.test", i)] = &values{}
	}
	urls := asked(b)
	found, n := 0, 0
	for b.Loop() {
		for name, more := urls[n&(1<<18-1)].Host, true; more; _, name, more = strings.Cut(name, ".") {
			if m[name] != nil {
				found++
			}
		}
		n++
	}
	if found != n {
		b.Fatalf("%d of %d found", found, n)
	}
}

// BenchmarkNone asks where there are no sheets.
func BenchmarkNone(b *testing.B) {
	var t *Table
	urls := asked(b)
	n := 0
	for b.Loop() {
		if v := t.For(urls[n&(1<<18-1)]); !v.Empty() {
			b.Fatal("found")
		}
		n++
	}
}

// BenchmarkFor asks a million sheets for URLs in no order.
func BenchmarkFor(b *testing.B) {
	t, err := Open(kept(b, aMillion()))
	if err != nil {
		b.Fatal(err)
	}
	urls := asked(b)
	found, n := 0, 0
	for b.Loop() {
		if v := t.For(urls[n&(1<<18-1)]); !v.Empty() {
			found++
		}
		n++
	}
	if found != n {
		b.Fatalf("%d of %d found", found, n)
	}
}
