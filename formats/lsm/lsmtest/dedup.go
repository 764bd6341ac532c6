package lsmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
)

// Candidate is a row of a candidates file, and of what Dedup writes.
type Candidate struct {
	Partition int32  `parquet:"partition"`
	Domain    string `parquet:"domain,delta"`
	Host      string `parquet:"host,delta"`
	URL       string `parquet:"url,delta"`
}

// Dedup reads unsorted candidates from a Parquet file, and writes those that the
// runs do not have, sorted and once each, to one file a thread: name-0, name-1, …
// It returns how many it wrote. Opened files are by path.
func Dedup(ctx context.Context, candidates string, runs []lsm.Run, out string, threads int,
	stats *lsm.Stats) (int64, error) {
	ranges := layout.Split(threads)
	sorters, err := readCandidates(ctx, candidates, ranges)
	if err != nil {
		return 0, err
	}
	wrote := make([]int64, threads)
	errs := make([]error, threads)
	var wait sync.WaitGroup
	for i := range ranges {
		wait.Go(func() {
			for t := 1; t < threads && errs[i] == nil; t++ {
				errs[i] = sorters[0][i].Absorb(sorters[t][i])
			}
			if errs[i] == nil {
				wrote[i], errs[i] = writeNew(ctx, sorters[0][i], runs, fmt.Sprintf("%s-%d", out, i), stats)
			}
			errs[i] = errors.Join(errs[i], sorters[0][i].Close())
		})
	}
	wait.Wait()
	n := int64(0)
	for _, w := range wrote {
		n += w
	}
	return n, errors.Join(errs...)
}

// readCandidates fills, for each thread and range, a sorter.
func readCandidates(ctx context.Context, path string, ranges []layout.Range) ([][]*lsm.Sorter, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	threads := len(ranges)
	sorters := make([][]*lsm.Sorter, threads)
	errs := make([]error, threads)
	var wait sync.WaitGroup
	for t := range sorters {
		for range ranges {
			sorters[t] = append(sorters[t], lsm.NewSorter(lsm.SorterOptions{Memory: 2 << 30}))
		}
		wait.Go(func() { errs[t] = readPart(ctx, f, info.Size(), t, ranges, sorters[t]) })
	}
	wait.Wait()
	return sorters, errors.Join(errs...)
}

// readPart reads the t-th part of the rows.
func readPart(ctx context.Context, f io.ReaderAt, size int64, t int, ranges []layout.Range,
	sorters []*lsm.Sorter) error {
	file, err := rowfile.Open[Candidate](f, size, rowfile.ReadOptions{Borrow: true})
	if err != nil {
		return err
	}
	n, parts := file.NumRows(), int64(len(ranges))
	cursor := file.Scan(n*int64(t)/parts, n*int64(t+1)/parts)
	owner := make([]uint8, layout.Partitions)
	for i, r := range ranges {
		for p := r.Lo; p < r.Hi; p++ {
			owner[p] = uint8(i)
		}
	}
	for {
		rows, err := cursor.Batch()
		if errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			k := lsm.Key{Partition: uint16(r.Partition), Domain: r.Domain, Host: r.Host, URL: r.URL}
			if err := sorters[owner[k.Partition]].Add(k); err != nil {
				return err
			}
		}
	}
}

// batch is how many candidates are looked up at once: their text stays in the
// processor's cache from one step to the next.
const batch = 16 << 10

// writeNew looks sorted candidates up and writes those that are not there.
func writeNew(ctx context.Context, s *lsm.Sorter, runs []lsm.Run, path string, stats *lsm.Stats) (int64, error) {
	out, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	w := rowfile.NewWriter[Candidate](out, rowfile.Options{Partitioned: true})
	r := lsm.URLs().NewReader(OpenPath, runs, lsm.LookupOptions{KeysOnly: true, Stats: stats})
	defer r.Close()
	keys := make([]lsm.Key, 0, batch)
	known := make([]bool, batch)
	flush := func() error {
		clear(known)
		if err := r.Lookup(ctx, keys, func(h lsm.Hit[URL]) error {
			known[h.Index] = true
			return nil
		}); err != nil {
			return err
		}
		for i, k := range keys {
			if known[i] {
				continue
			}
			if err := w.WriteRow(&Candidate{int32(k.Partition), k.Domain, k.Host, k.URL}); err != nil {
				return err
			}
		}
		keys = keys[:0]
		return nil
	}
	err = s.Each(ctx, func(k lsm.Key) error {
		if keys = append(keys, k); len(keys) < batch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = w.Finish()
	}
	return w.Rows(), errors.Join(err, out.Close())
}

// OpenPath opens objects that are files, their keys being paths.
func OpenPath(_ context.Context, key layout.Key, _ int64) (io.ReaderAt, error) { return os.Open(key) }
