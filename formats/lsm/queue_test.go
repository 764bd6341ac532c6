package lsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"seine/formats/layout"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

func TestQueueWriter(t *testing.T) {
	for kind, compare := range map[string]func(a, b *schema.FrontierRow) int{
		schema.Waiting: CompareWaiting, schema.Ready: CompareReady,
	} {
		t.Run(kind, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			rng := layout.Range{Lo: 10, Hi: 20}
			rows := make([]schema.FrontierRow, 3200)
			counts := make([]int64, rng.Len())
			var values []int64
			for i := range rows {
				rows[i] = schema.FrontierRow{Partition: int32(10 + r.IntN(9)), URL: fmt.Sprint(i),
					Due: r.Int64N(1e6), Rank: r.Int64N(1e6)}
				counts[rows[i].Partition-10]++
				values = append(values, map[string]int64{schema.Waiting: rows[i].Due, schema.Ready: rows[i].Rank}[kind])
			}
			slices.SortFunc(rows, func(a, b schema.FrontierRow) int { return compare(&a, &b) })
			slices.Sort(values)
			if kind == schema.Ready {
				slices.Reverse(values)
			}
			var b bytes.Buffer
			w := NewQueueWriter(kind, &b, "q", rng, rowfile.Options{})
			for i := range rows {
				if err := w.Write(&rows[i]); err != nil {
					t.Fatal(err)
				}
			}
			o, err := w.Finish()
			if err != nil {
				t.Fatal(err)
			}
			if o.Rows != 3200 || o.Left() != 3200 || !slices.Equal(o.Counts, counts) || o.Bytes != int64(b.Len()) {
				t.Errorf("object %+v", o)
			}
			for i, m := range o.Marks {
				if want := values[(2*i+1)*3200/32]; m != want {
					t.Errorf("mark %d is %d, want %d", i, m, want)
				}
			}
			w = NewQueueWriter(kind, &b, "q", rng, rowfile.Options{})
			if err := w.Write(&rows[1]); err != nil {
				t.Fatal(err)
			}
			if err := w.Write(&rows[0]); err == nil {
				t.Error("rows out of order were written")
			}
			if _, err := w.Finish(); err == nil {
				t.Error("an object with an error was finished")
			}
		})
	}
}

func TestMarksOfManyRowsAreNear(t *testing.T) {
	w := NewQueueWriter(schema.Waiting, discard{}, "q", layout.All, rowfile.Options{Codec: rowfile.Snappy})
	const n = 3 * maxSamples
	for i := range int64(n) { // the samples alone: writing the rows proves nothing here
		w.sample(&schema.FrontierRow{Due: i})
		w.object.Rows++
	}
	if len(w.samples) > maxSamples {
		t.Errorf("%d samples are kept", len(w.samples))
	}
	for i, m := range w.marks() {
		if want := int64((2*i + 1) * n / 32); m < want-8 || m > want+8 {
			t.Errorf("mark %d is %d, want about %d", i, m, want)
		}
	}
}
