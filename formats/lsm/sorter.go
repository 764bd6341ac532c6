package lsm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"seine/formats/layout"
	"seine/formats/rowfile"
)

// SorterOptions bound a Sorter.
type SorterOptions struct {
	// Memory is about how many bytes are held; 0: 256 MiB.
	Memory int64
	// Scratch is a folder for what does not fit; "" is the system's. The files
	// have no name there once they are open.
	Scratch string
}

// Sorter sorts keys in any order and drops repeats. Keys go to the bucket of
// their partition as they come; a bucket is then grouped by host, and each host's
// URLs are sorted apart from all others, in memory that the cache holds.
type Sorter struct {
	o       SorterOptions
	buckets [layout.Partitions]bucket
	held    int64 // about the bytes in use
	spills  []*os.File
	added   int64
	err     error
}

// url is a URL in a bucket's chunk.
type url struct {
	word uint64 // eight bytes of it that are to be compared
	at   *byte
	len  uint32
	host int32
}

func (u *url) bytes() []byte { return unsafe.Slice(u.at, u.len) }

func (u *url) text() string { return unsafe.String(u.at, u.len) }

const defaultSorterMemory = 256 << 20

// recordBytes is what grouping takes for a record, should all be of one partition.
const recordBytes = 2 * int64(unsafe.Sizeof(url{}))

// NewSorter returns an empty sorter. It must be closed.
func NewSorter(o SorterOptions) *Sorter {
	if o.Memory <= 0 {
		o.Memory = defaultSorterMemory
	}
	return &Sorter{o: o}
}

// Add takes a key; its strings are copied.
func (s *Sorter) Add(k Key) error {
	if s.err != nil {
		return s.err
	}
	if k.Partition >= layout.Partitions || len(k.Domain) > maxName || len(k.Host) > maxName ||
		len(k.URL) > 1<<24 {
		return fmt.Errorf("sort keys: partition %d, names of %d and %d bytes, URL of %d", k.Partition,
			len(k.Domain), len(k.Host), len(k.URL))
	}
	s.held += s.buckets[k.Partition].add(k) + recordBytes
	s.added++
	if s.held >= s.o.Memory {
		s.err = s.spill()
	}
	return s.err
}

// Added is the number of keys added, repeats included.
func (s *Sorter) Added() int64 { return s.added }

// reset drops all that memory holds.
func (s *Sorter) reset() {
	for p := range s.buckets {
		s.buckets[p] = bucket{}
	}
	s.held = 0
}

// Close drops all that is held.
func (s *Sorter) Close() error {
	var err error
	for _, f := range s.spills {
		err = errors.Join(err, f.Close())
	}
	s.spills = nil
	s.reset()
	if s.err == nil {
		s.err = errors.New("the sorter is closed")
	}
	return err
}

// Absorb takes all that another sorter holds in memory, which is empty after:
// several goroutines can so fill sorters of their own. A sorter that has spilled
// cannot be absorbed.
func (s *Sorter) Absorb(o *Sorter) error {
	if err := errors.Join(s.err, o.err); err != nil {
		return err
	}
	if len(o.spills) > 0 {
		return errors.New("the sorter to absorb has keys on scratch")
	}
	for p := range o.buckets {
		s.buckets[p].absorb(&o.buckets[p])
	}
	s.held, s.added = s.held+o.held, s.added+o.added
	o.reset()
	if s.held >= s.o.Memory {
		s.err = s.spill()
	}
	return s.err
}

// Each emits the distinct keys in order; the sorter is empty after. The keys'
// strings are valid until Each returns.
func (s *Sorter) Each(ctx context.Context, emit func(Key) error) error {
	if s.err != nil {
		return s.err
	}
	if len(s.spills) == 0 {
		defer s.reset()
		return s.sorted(ctx, emit)
	}
	if err := s.spill(); err != nil {
		return err
	}
	return s.merge(ctx, emit)
}

// sorted emits what memory holds.
func (s *Sorter) sorted(ctx context.Context, emit func(Key) error) error {
	var g grouping
	for p := range s.buckets {
		if s.buckets[p].n == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.buckets[p].sorted(uint16(p), &g, emit); err != nil {
			return err
		}
		s.buckets[p] = bucket{}
	}
	return nil
}

// spill writes the sorted keys to a scratch file and empties the memory.
func (s *Sorter) spill() (err error) {
	if s.held == 0 {
		return nil
	}
	f, err := os.CreateTemp(s.o.Scratch, "seine-sort-*")
	if err != nil {
		return fmt.Errorf("sort keys on scratch: %w", err)
	}
	s.spills = append(s.spills, f)
	if err := os.Remove(f.Name()); err != nil {
		return fmt.Errorf("sort keys on scratch: %w", err)
	}
	w := rowfile.NewWriter[spilled](f, rowfile.Options{Codec: rowfile.Snappy, GroupRows: 1 << 18})
	if err := s.sorted(context.Background(), func(k Key) error {
		return w.WriteRow(&spilled{int32(k.Partition), k.Domain, k.Host, k.URL})
	}); err != nil {
		return fmt.Errorf("sort keys on scratch: %w", err)
	}
	if err := w.Finish(); err != nil {
		return fmt.Errorf("sort keys on scratch: %w", err)
	}
	s.reset()
	return nil
}

// spilled is a key on scratch.
type spilled struct {
	Partition int32  `parquet:"partition"`
	Domain    string `parquet:"domain,delta"`
	Host      string `parquet:"host,delta"`
	URL       string `parquet:"url,delta"`
}

func (r *spilled) key() Key { return Key{uint16(r.Partition), r.Domain, r.Host, r.URL} }

// merge emits the keys of all scratch files.
func (s *Sorter) merge(ctx context.Context, emit func(Key) error) error {
	var cursors []*rowfile.Cursor[spilled]
	for _, f := range s.spills {
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("read scratch: %w", err)
		}
		file, err := rowfile.Open[spilled](f, info.Size(), rowfile.ReadOptions{
			BufferBytes: int(s.o.Memory) / 2 / len(s.spills)})
		if err != nil {
			return fmt.Errorf("read scratch: %w", err)
		}
		cursors = append(cursors, file.Scan(0, file.NumRows()))
	}
	var last Key
	n := 0
	compare := func(a, b *spilled) int { return a.key().Compare(b.key()) }
	return rowfile.Merge(cursors, compare, func(r *spilled, _ int) error {
		k := r.key()
		if n > 0 && k == last {
			return nil
		}
		if n++; n%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		last = k
		return emit(k)
	})
}
