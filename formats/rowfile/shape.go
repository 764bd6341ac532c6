package rowfile

import (
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// shape is a row struct as this package sees it: one field a top-level column.
type shape struct {
	typ    reflect.Type
	fields []field
}

// form is how a field lies in the file.
type form int

const (
	scalar form = iota // one leaf: name
	list               // one leaf: name.list.element
	dict               // two leaves: name.key_value.{key,value}
)

type field struct {
	name   string // of the column
	offset uintptr
	typ    reflect.Type
	kind   reflect.Kind
	form   form
	// optional says that the zero value is stored as null.
	optional bool
}

func shapeOf(t reflect.Type) (*shape, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("rows of type %s are no struct", t)
	}
	s := &shape{typ: t}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		c := field{name: name, offset: f.Offset, typ: f.Type, kind: f.Type.Kind(),
			optional: slices.Contains(strings.Split(options, ","), "optional")}
		switch {
		case c.kind == reflect.Map && f.Type.Key().Kind() == reflect.String && flat(f.Type.Elem()):
			c.form = dict
		case c.kind == reflect.Slice && flat(f.Type.Elem()):
			c.form = list
		case !flat(f.Type):
			return nil, fmt.Errorf("column %s of %s: type %s is not supported", name, t, f.Type)
		}
		s.fields = append(s.fields, c)
	}
	return s, nil
}

// Columns are the names of the columns of rows R; none where R is no row type.
func Columns[R any]() []string {
	s, err := shapeOf(reflect.TypeFor[R]())
	if err != nil {
		return nil
	}
	names := make([]string, len(s.fields))
	for i := range s.fields {
		names[i] = s.fields[i].name
	}
	return names
}

// flat says whether a type is the value of one leaf column.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Uint32,
		reflect.Uint64, reflect.Float32, reflect.Float64:
		return true
	case reflect.Array:
		return t.Elem().Kind() == reflect.Uint8
	}
	return false
}

func (s *shape) field(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

// leaves are the paths of the field's leaf columns.
func (f *field) leaves() []string {
	switch f.form {
	case list:
		return []string{f.name + ".list.element"}
	case dict:
		return []string{f.name + ".key_value.key", f.name + ".key_value.value"}
	}
	return []string{f.name}
}

// checksum names the columns: a damaged name would else read as a column that
// the file lacks.
func (s *shape) checksum() string {
	var paths []string
	for i := range s.fields {
		paths = append(paths, s.fields[i].leaves()...)
	}
	return columnsChecksum(paths)
}

func columnsChecksum(paths []string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(strings.Join(paths, "\n")), castagnoli))
}

// size is about how many bytes the row's strings take; page and group bounds
// follow it, so it depends on the row alone.
func (s *shape) size(row any) int64 {
	n := int64(0)
	base := reflect.ValueOf(row).UnsafePointer()
	for i := range s.fields {
		f := &s.fields[i]
		switch {
		case f.kind == reflect.String:
			n += int64(len(*(*string)(unsafe.Add(base, f.offset))))
		case f.form != scalar:
			n += sizeOf(reflect.NewAt(f.typ, unsafe.Add(base, f.offset)).Elem())
		}
	}
	return n
}

// sizeOf is about the bytes of a list or map.
func sizeOf(v reflect.Value) (n int64) {
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			if n += 8; v.Index(i).Kind() == reflect.String {
				n += int64(v.Index(i).Len())
			}
		}
		return n
	}
	for it := v.MapRange(); it.Next(); {
		n += 16 + int64(it.Key().Len())
		if it.Value().Kind() == reflect.String {
			n += int64(it.Value().Len())
		}
	}
	return n
}
