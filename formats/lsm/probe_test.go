package lsm

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"testing"

	"seine/formats/layout"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// BenchmarkProbe measures the costs that decide between a filter and the pages: those of
// filterPays, on a warm object in memory.
func BenchmarkProbe(b *testing.B) {
	const rows = 2 * 64 << 10 // two groups
	var data, side bytes.Buffer
	w := URLs().NewWriter(&data, &side, "o", "o.side", layout.All, rowfile.Options{})
	var keys []Key
	for i := range rows {
		h := fnv.New64a()
		fmt.Fprint(h, i)
		row := schema.URL{Partition: 7, Domain: "a.test", Host: "www.a.test", CrawlStatus: schema.Pending,
			URL: fmt.Sprintf("https://www.a.test/articles/%07d/%x.html", i, h.Sum64())}
		keys = append(keys, URLs().Key(&row))
		if err := w.Write(&row); err != nil {
			b.Fatal(err)
		}
	}
	object, err := w.Finish()
	if err != nil {
		b.Fatal(err)
	}
	open := func(_ context.Context, key layout.Key, _ int64) (io.ReaderAt, error) {
		if key == "o" {
			return bytes.NewReader(data.Bytes()), nil
		}
		return bytes.NewReader(side.Bytes()), nil
	}
	r := URLs().NewReader(open, []Run{{ID: "r", Objects: []Object{object}}}, LookupOptions{KeysOnly: true})
	defer r.Close()
	or, err := r.openReader(b.Context(), &object)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("page", func(b *testing.B) {
		var match []string
		var chosen []int32
		for i := 0; i < rows; i += rows / 128 {
			match, chosen = append(match, keys[i].URL), append(chosen, int32(len(chosen)))
		}
		for n := int64(0); b.Loop(); n++ {
			page, err := or.match.Page(n * rowfile.DefaultPageRows % rows)
			if err != nil {
				b.Fatal(err)
			}
			or.prober.load(match, chosen)
			or.rows, or.which = or.prober.probe(page, true, or.rows[:0], or.which[:0])
		}
	})
	b.Run("filter", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			if _, err := or.side.Filter(n % 2); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("test", func(b *testing.B) {
		filter, err := or.side.Filter(0)
		if err != nil {
			b.Fatal(err)
		}
		for n := 0; b.Loop(); n++ {
			or.encoded = keys[n%rows].Append(or.encoded[:0])
			filter.MayHold(or.encoded)
		}
	})
}
