package lsm

import (
	"context"
	"fmt"
	"io"
	"slices"

	"seine/formats/layout"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// Table is what distinguishes one run table from another.
type Table[R any] struct {
	Name string
	Key  func(*R) Key
	// Fold adds a newer delta to an older row, whole or delta.
	Fold func(older, newer *R)
	// IsDelta tells delta rows; nil: the table has none.
	IsDelta func(*R) bool
	// Always names the columns that every read needs: those of the key, and what
	// Fold and IsDelta look at to decide.
	Always []string
	// Match names the string column that tells keys apart best, and MatchOf gives
	// its value for a key. Lookups read no other column to find rows.
	Match   string
	MatchOf func(Key) string
	// Unique says that Match alone tells keys apart (a URL has one host, a host
	// one domain), so existence is decided without reading more.
	Unique bool
	// KeyColumns are the columns of the key, and SetKey sets them: where Match
	// alone tells keys apart, a row that was found need not say again what its key
	// is. Both are set where Unique is.
	KeyColumns []string
	SetKey     func(*R, Key)
}

// URLs is the table urls.
func URLs() Table[schema.URL] {
	return Table[schema.URL]{
		Name: schema.URLs,
		Key: func(r *schema.URL) Key {
			return Key{uint16(r.Partition), r.Domain, r.Host, r.URL}
		},
		Fold:    foldURL,
		IsDelta: func(r *schema.URL) bool { return r.Delta },
		Always:  []string{"partition", "domain", "host", "url", "delta", "queued"},
		Match:   "url",
		MatchOf: func(k Key) string { return k.URL },
		Unique:  true,

		KeyColumns: []string{"partition", "domain", "host", "url"},
		SetKey: func(r *schema.URL, k Key) {
			r.Partition, r.Domain, r.Host, r.URL = int32(k.Partition), k.Domain, k.Host, k.URL
		},
	}
}

// foldURL is the meaning of delta rows of urls; see schema.URL.
func foldURL(older, newer *schema.URL) {
	older.Inlinks += newer.Inlinks
	older.Depth = min(older.Depth, newer.Depth)
	if newer.Queued != 0 {
		older.Queued, older.QueuedRank, older.Priority = newer.Queued, newer.QueuedRank, newer.Priority
	}
}

// Domains is the table domains.
func Domains() Table[schema.Domain] {
	return Table[schema.Domain]{
		Name: schema.Domains,
		Key: func(r *schema.Domain) Key {
			return Key{Partition: uint16(r.Partition), Domain: r.Domain, Host: r.Host}
		},
		Always:  []string{"partition", "domain", "host"},
		Match:   "domain",
		MatchOf: func(k Key) string { return k.Domain },
	}
}

// Hosts is the table hosts.
func Hosts() Table[schema.Host] {
	return Table[schema.Host]{
		Name: schema.Hosts,
		Key: func(r *schema.Host) Key {
			return Key{Partition: uint16(r.Partition), Domain: r.Domain, Host: r.Host}
		},
		Always:  []string{"partition", "domain", "host"},
		Match:   "host",
		MatchOf: func(k Key) string { return k.Host },
		Unique:  true,

		KeyColumns: []string{"partition", "domain", "host"},
		SetKey: func(r *schema.Host, k Key) {
			r.Partition, r.Domain, r.Host = int32(k.Partition), k.Domain, k.Host
		},
	}
}

// RobotsTable is the table robots.
func RobotsTable() Table[schema.Robots] {
	return Table[schema.Robots]{
		Name: schema.RobotsT,
		Key: func(r *schema.Robots) Key {
			return Key{Partition: uint16(r.Partition), Domain: r.Domain, URL: r.Authority}
		},
		Always:  []string{"partition", "domain", "authority"},
		Match:   "authority",
		MatchOf: func(k Key) string { return k.URL },
		Unique:  true,

		KeyColumns: []string{"partition", "domain", "authority"},
		SetKey: func(r *schema.Robots, k Key) {
			r.Partition, r.Domain, r.Authority = int32(k.Partition), k.Domain, k.URL
		},
	}
}

// columns completes a projection by what every read needs.
func (t Table[R]) columns(names []string) []string {
	if names == nil {
		return nil
	}
	out := slices.Clone(t.Always)
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// gathered are the columns, of those wanted, that are read of rows found by
// lookup: what the key says is known.
func (t Table[R]) gathered(names []string) []string {
	if !t.Unique {
		return t.columns(names)
	}
	if names == nil {
		names = rowfile.Columns[R]()
	}
	return slices.DeleteFunc(t.columns(names), func(n string) bool {
		return slices.Contains(t.KeyColumns, n)
	})
}

func (t Table[R]) isDelta(r *R) bool { return t.IsDelta != nil && t.IsDelta(r) }

// Opener opens an object of size bytes for reading. What it returns is closed
// after use if it is an io.Closer.
type Opener func(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error)

// Ref names a physical row.
type Ref struct {
	Object layout.Key
	Row    int64
}

// openFile is an open object.
type openFile[R any] struct {
	*rowfile.File[R]
	key layout.Key
	src io.ReaderAt
}

func openObject[R any](ctx context.Context, open Opener, o Object, ro rowfile.ReadOptions) (*openFile[R], error) {
	src, err := open(ctx, o.Key, o.Bytes)
	if err != nil {
		return nil, fmt.Errorf("open run object %s: %w", o.Key, err)
	}
	if sized, ok := src.(interface{ Size() int64 }); ok && o.Bytes == 0 {
		o.Bytes = sized.Size()
	}
	f, err := rowfile.Open[R](src, o.Bytes, ro)
	if err == nil && f.NumRows() != o.Rows {
		err = fmt.Errorf("%w: %d rows, the manifest says %d", rowfile.ErrCorrupt, f.NumRows(), o.Rows)
	}
	if err != nil {
		closeSource(src)
		return nil, fmt.Errorf("open run object %s: %w", o.Key, err)
	}
	return &openFile[R]{f, o.Key, src}, nil
}

func (f *openFile[R]) close() { closeSource(f.src) }

// closeSource closes what was only read: nothing can be lost.
func closeSource(src io.ReaderAt) {
	if c, ok := src.(io.Closer); ok {
		_ = c.Close()
	}
}

// overlapping gives the run's objects that have partitions of the range.
func (r Run) overlapping(rng layout.Range) []Object {
	var out []Object
	for _, o := range r.Objects {
		if o.Rows > 0 && o.Range.Overlaps(rng) {
			out = append(out, o)
		}
	}
	return out
}
