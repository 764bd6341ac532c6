package lsm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

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

// Sorter sorts keys in any order and drops repeats. Keys of one host lie
// together: a host's strings are kept once, and its URLs are sorted apart from
// all others, in a piece of memory that the cache holds.
type Sorter struct {
	o      SorterOptions
	hosts  map[hostKey]int32
	list   []hostKey
	last   hostKey
	lastID int32
	arena  []byte
	urls   []url
	spills []*os.File
	added  int64
	err    error
}

// hostKey is all of a key but the URL.
type hostKey struct {
	partition    uint16
	domain, host string
}

// url is a URL of the arena.
type url struct {
	word uint64 // eight bytes of it that are to be compared
	off  int64
	len  int32
	host int32
}

const defaultSorterMemory = 256 << 20

// NewSorter returns an empty sorter. It must be closed.
func NewSorter(o SorterOptions) *Sorter {
	if o.Memory <= 0 {
		o.Memory = defaultSorterMemory
	}
	return &Sorter{o: o, hosts: map[hostKey]int32{}, lastID: -1}
}

// Add takes a key; its strings are copied.
func (s *Sorter) Add(k Key) error {
	if s.err != nil {
		return s.err
	}
	h := hostKey{k.Partition, k.Domain, k.Host}
	if s.lastID < 0 || h != s.last {
		id, ok := s.hosts[h]
		if !ok {
			id = int32(len(s.list))
			h.domain, h.host = strings.Clone(h.domain), strings.Clone(h.host)
			s.hosts[h] = id
			s.list = append(s.list, h)
		}
		s.last, s.lastID = s.list[id], id
	}
	s.urls = append(s.urls, url{off: int64(len(s.arena)), len: int32(len(k.URL)), host: s.lastID})
	s.arena = append(s.arena, k.URL...)
	s.added++
	if s.held() >= s.o.Memory {
		s.err = s.spill()
	}
	return s.err
}

// Added is the number of keys added, repeats included.
func (s *Sorter) Added() int64 { return s.added }

// held is about the bytes in use; sorting takes the records once more.
func (s *Sorter) held() int64 {
	const record, host = int64(unsafe.Sizeof(url{})), 160
	return int64(len(s.arena)) + 2*record*int64(len(s.urls)) + host*int64(len(s.list))
}

// reset empties the memory but keeps the room.
func (s *Sorter) reset() {
	clear(s.hosts)
	s.list, s.arena, s.urls, s.lastID = s.list[:0], s.arena[:0], s.urls[:0], -1
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
	ids := make([]int32, len(o.list))
	for i, h := range o.list {
		id, ok := s.hosts[h]
		if !ok {
			id = int32(len(s.list))
			s.hosts[h] = id
			s.list = append(s.list, h)
		}
		ids[i] = id
	}
	shift := int64(len(s.arena))
	s.arena = append(s.arena, o.arena...)
	s.urls = slices.Grow(s.urls, len(o.urls))
	for _, u := range o.urls {
		s.urls = append(s.urls, url{off: u.off + shift, len: u.len, host: ids[u.host]})
	}
	s.added += o.added
	o.reset()
	if s.held() >= s.o.Memory {
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
	order := make([]int32, len(s.list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return s.list[a].compare(&s.list[b]) })
	groups, ends := s.group(order)
	start := 0
	for i, id := range order {
		if i%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		g := groups[start:ends[i]]
		start = ends[i]
		s.sortURLs(g)
		h := &s.list[id]
		var last string
		for j := range g {
			u := s.text(&g[j])
			if j > 0 && u == last {
				continue
			}
			last = u
			if err := emit(Key{h.partition, h.domain, h.host, u}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *hostKey) compare(o *hostKey) int {
	return Key{h.partition, h.domain, h.host, ""}.Compare(Key{o.partition, o.domain, o.host, ""})
}

// group brings the records of each host together, in the order of hosts.
func (s *Sorter) group(order []int32) (groups []url, ends []int) {
	at := make([]int, len(order)) // by host: where its next record goes
	for i := range s.urls {
		at[s.urls[i].host]++
	}
	ends = make([]int, len(order))
	next := 0
	for i, id := range order {
		n := at[id]
		at[id] = next
		next += n
		ends[i] = next
	}
	groups = make([]url, len(s.urls))
	for i := range s.urls {
		id := s.urls[i].host
		groups[at[id]] = s.urls[i]
		at[id]++
	}
	return groups, ends
}

// text is the URL of a record. It aliases the arena, which does not change while
// records are emitted.
func (s *Sorter) text(u *url) string {
	b := s.arena[u.off : u.off+int64(u.len)]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// spill writes the sorted keys to a scratch file and empties the memory.
func (s *Sorter) spill() (err error) {
	if len(s.urls) == 0 {
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
