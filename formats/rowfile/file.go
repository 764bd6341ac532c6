package rowfile

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"
	"seine/formats/layout"
)

// File is an open file of rows R.
type File[R any] struct {
	*table
	shape   *shape
	columns []*binding
	o       ReadOptions
}

// table is a file without its row type.
type table struct {
	src     source
	foot    *footer
	leaves  []leaf
	parts   []int64
	starts  []int64 // first row of each row group, and the number of rows
	index   blocks  // of the offset indexes, as stored: what was read so far
	pages   map[chunkID][]pageSpan
	dicts   map[chunkID]*dictionary
	unpack  map[format.CompressionCodec]*unpacker
	decoded []int64 // rows of the pages decoded, of each leaf
	most    int64   // the largest of these
	joined  blocks  // what the Gather under way has read
	// fetched is what Fetch has read, for scans to come.
	fetched blocks
}

// chunkID is a column of a row group.
type chunkID struct{ group, leaf int }

// pageSpan is where a page lies and what it holds.
type pageSpan struct {
	off, len int64 // bytes in the file, header included
	row      int64 // first row, in the file
	rows     int64
}

// Open reads the footer of a file of size bytes. A file that is not a whole one
// of ours is ErrCorrupt.
func Open[R any](src io.ReaderAt, size int64, o ReadOptions) (f *File[R], err error) {
	defer recovered(&err, "open Parquet")
	s, err := shapeOf(reflect.TypeFor[R]())
	if err != nil {
		return nil, err
	}
	f = &File[R]{table: &table{}, shape: s, o: o}
	if err := f.table.open(src, size, o.Stats); err != nil {
		return nil, err
	}
	if f.columns, err = f.bind(s, o.Columns); err != nil {
		return nil, err
	}
	return f, nil
}

// Project returns the same file with other columns: what one of the two has read
// of footers, indexes and dictionaries the other need not. Both belong to one
// goroutine.
func (f *File[R]) Project(columns []string) (*File[R], error) {
	other := &File[R]{table: f.table, shape: f.shape, o: f.o}
	other.o.Columns = columns
	var err error
	other.columns, err = f.bind(f.shape, columns)
	return other, err
}

// Copy sets the columns that the file reads, of dst to those of src.
func (f *File[R]) Copy(dst, src *R) {
	to, from := reflect.ValueOf(dst).UnsafePointer(), reflect.ValueOf(src).UnsafePointer()
	for _, b := range f.columns {
		at := b.field.offset
		reflect.NewAt(b.field.typ, unsafe.Add(to, at)).Elem().Set(
			reflect.NewAt(b.field.typ, unsafe.Add(from, at)).Elem())
	}
}

func (t *table) open(src io.ReaderAt, size int64, stats *Stats) (err error) {
	t.src = source{r: src, size: size, stats: stats}
	t.pages = map[chunkID][]pageSpan{}
	t.dicts = map[chunkID]*dictionary{}
	t.unpack = map[format.CompressionCodec]*unpacker{}
	if t.foot, err = t.src.readFooter(); err != nil {
		return err
	}
	if t.leaves, err = t.foot.leaves(); err != nil {
		return err
	}
	if err := t.foot.check(len(t.leaves)); err != nil {
		return err
	}
	t.decoded = make([]int64, len(t.leaves))
	paths := make([]string, len(t.leaves))
	for i, l := range t.leaves {
		paths[i] = l.path
	}
	if want := t.Metadata(metaColumns); want != columnsChecksum(paths) {
		return fmt.Errorf("%w: its columns are not those it was written with", ErrCorrupt)
	}
	t.starts = []int64{0}
	for i := range t.foot.meta.RowGroups {
		t.starts = append(t.starts, t.starts[i]+t.foot.meta.RowGroups[i].NumRows)
	}
	if enc := t.Metadata(metaPartitions); enc != "" {
		t.parts, err = decodePartitions(enc, t.NumRows())
	}
	return err
}

// NumRows is the number of rows in the file.
func (t *table) NumRows() int64 { return t.foot.meta.NumRows }

// Metadata is the value of a footer key, "" where it has none.
func (t *table) Metadata(key string) string {
	for _, kv := range t.foot.meta.KeyValueMetadata {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}

// Partitions gives the rows [from, to) of a range of partitions; for a file
// that was not written Partitioned, all rows.
func (t *table) Partitions(r layout.Range) (from, to int64) {
	if t.parts == nil {
		return 0, t.NumRows()
	}
	hi := min(r.Hi, layout.Partitions)
	return t.parts[min(r.Lo, hi)], t.parts[hi]
}

// binding ties a field of the row struct to leaves of the file.
type binding struct {
	field *field
	leaf  []leaf
}

func (t *table) bind(s *shape, names []string) ([]*binding, error) {
	for _, n := range names {
		if s.field(n) == nil {
			return nil, fmt.Errorf("%s has no column %q", s.typ, n)
		}
	}
	var out []*binding
	for i := range s.fields {
		f := &s.fields[i]
		if names != nil && !slices.Contains(names, f.name) {
			continue
		}
		b := &binding{field: f}
		for _, path := range f.leaves() {
			at := slices.IndexFunc(t.leaves, func(l leaf) bool { return l.path == path })
			if at >= 0 {
				b.leaf = append(b.leaf, t.leaves[at])
			}
		}
		if len(b.leaf) == 0 {
			continue // the column is younger than the file
		}
		if err := b.check(); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// check says whether the leaves hold what the field does.
func (b *binding) check() error {
	want := []reflect.Type{b.field.typ}
	switch b.field.form {
	case list:
		want = []reflect.Type{b.field.typ.Elem()}
	case dict:
		want = []reflect.Type{b.field.typ.Key(), b.field.typ.Elem()}
	}
	if len(b.leaf) != len(want) {
		return fmt.Errorf("%w: column %s is not stored as a map", ErrCorrupt, b.field.name)
	}
	for i, t := range want {
		l := b.leaf[i]
		if l.typ != physical(t) || (b.field.form == scalar) != (l.maxRep == 0) || l.maxRep > 1 ||
			b.field.form == scalar && l.maxDef > 1 || t.Kind() == reflect.Array && l.length != t.Len() {
			return fmt.Errorf("%w: column %s is stored as %s", ErrCorrupt, l.path, l.typ)
		}
	}
	return nil
}

// physical is how Parquet stores values of a flat Go type.
func physical(t reflect.Type) format.Type {
	switch t.Kind() {
	case reflect.Bool:
		return format.Boolean
	case reflect.Int32, reflect.Uint32:
		return format.Int32
	case reflect.Int64, reflect.Uint64:
		return format.Int64
	case reflect.Float32:
		return format.Float
	case reflect.Float64:
		return format.Double
	case reflect.Array:
		return format.FixedLenByteArray
	}
	return format.ByteArray
}

// group is the row group that holds a row.
func (t *table) group(row int64) int {
	at, _ := slices.BinarySearch(t.starts, row+1)
	return at - 1
}
