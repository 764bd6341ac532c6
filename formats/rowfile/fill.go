package rowfile

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"
)

// rows is where rows go: count structs of stride bytes from base on. They take
// page rows from, from+1, …; or, where pick is set, the page rows it lists.
type target struct {
	base   unsafe.Pointer
	stride uintptr
	count  int
	from   int
	pick   []int32
	// alone makes each string its own memory, so that a kept row does not keep
	// its page.
	alone bool
	// borrow makes strings point into the page's buffer, which the next page
	// overwrites.
	borrow bool
}

func (d *target) row(k int) int {
	if d.pick != nil {
		return int(d.pick[k])
	}
	return d.from + k
}

// fillScalar sets a field of the target's rows from a page of its leaf.
func fillScalar(b *binding, p *page, d target) error {
	d.base = unsafe.Add(d.base, b.field.offset)
	switch b.field.kind {
	case reflect.String:
		fillStrings(p, d)
	case reflect.Bool:
		fillBools(p, d)
	case reflect.Int32, reflect.Uint32:
		put(p, d, p.int32, dictOf(p).int32)
	case reflect.Int64, reflect.Uint64:
		put(p, d, p.int64, dictOf(p).int64)
	case reflect.Float32:
		put(p, d, p.float, dictOf(p).float)
	case reflect.Float64:
		put(p, d, p.double, dictOf(p).double)
	case reflect.Array:
		fillArrays(p, d, b.field.typ.Len())
	default:
		return fmt.Errorf("column %s: kind %s", b.field.name, b.field.kind)
	}
	return nil
}

// noDictionary stands where a page has none.
var noDictionary = new(dictionary)

func dictOf(p *page) *dictionary {
	if p.dict == nil {
		return noDictionary
	}
	return p.dict
}

// put sets values of type T; nulls become zero.
func put[T any](p *page, d target, plain, dict []T) {
	if p.dict != nil {
		plain = dict
	}
	var zero T
	if p.n == 0 {
		for k := range d.count {
			*(*T)(unsafe.Add(d.base, uintptr(k)*d.stride)) = zero
		}
		return
	}
	if d.pick == nil && len(p.rank) == 0 && p.dict == nil { // the common loop
		for k, v := range plain[d.from : d.from+d.count] {
			*(*T)(unsafe.Add(d.base, uintptr(k)*d.stride)) = v
		}
		return
	}
	for k := range d.count {
		at := p.value(d.row(k))
		v := zero
		if at >= 0 {
			v = plain[at]
		}
		*(*T)(unsafe.Add(d.base, uintptr(k)*d.stride)) = v
	}
}

// value is where the value of a page row lies: in the dictionary or among the
// page's values; -1 for null.
func (p *page) value(row int) int {
	if len(p.rank) > 0 {
		if row = int(p.rank[row]); row < 0 {
			return -1
		}
	}
	if p.dict != nil {
		return int(p.index[row])
	}
	return row
}

func fillStrings(p *page, d target) {
	if p.dict != nil || p.n == 0 {
		put(p, d, nil, dictOf(p).strings)
		return
	}
	if d.alone {
		for k := range d.count {
			s := ""
			if at := p.value(d.row(k)); at >= 0 {
				s = string(p.data[p.offsets[at]:p.offsets[at+1]])
			}
			*(*string)(unsafe.Add(d.base, uintptr(k)*d.stride)) = s
		}
		return
	}
	switch {
	case p.text != "":
	case d.borrow:
		p.text = unsafe.String(unsafe.SliceData(p.data), len(p.data))
	default:
		p.text = string(p.data)
	}
	for k := range d.count {
		s := ""
		if at := p.value(d.row(k)); at >= 0 {
			s = p.text[p.offsets[at]:p.offsets[at+1]]
		}
		*(*string)(unsafe.Add(d.base, uintptr(k)*d.stride)) = s
	}
}

func fillBools(p *page, d target) {
	for k := range d.count {
		at := p.value(d.row(k))
		*(*bool)(unsafe.Add(d.base, uintptr(k)*d.stride)) = at >= 0 && p.bool(at)
	}
}

// bool is boolean value at of the page or its dictionary.
func (p *page) bool(at int) bool {
	bits := p.bits
	if p.dict != nil {
		bits = p.dict.bits
	}
	return bits[at/8]>>(at%8)&1 == 1
}

func fillArrays(p *page, d target, size int) {
	for k := range d.count {
		dst := unsafe.Slice((*byte)(unsafe.Add(d.base, uintptr(k)*d.stride)), size)
		if at := p.value(d.row(k)); at >= 0 {
			data := p.data
			if p.dict != nil {
				data = p.dict.data
			}
			copy(dst, data[at*size:(at+1)*size])
		} else {
			clear(dst)
		}
	}
}

// fillNested sets a list or map field of the target's rows, by reflection: such
// columns are few and their values large. The two pages of a map need not begin
// at the same row.
func fillNested(b *binding, pages []*page, d target) error {
	starts := make([][]int, len(pages))
	for i, p := range pages {
		if starts[i] = rowStarts(p); len(starts[i])-1 != int(p.span.rows) {
			return fmt.Errorf("%w: %d rows in a page of %d", ErrCorrupt, len(starts[i])-1, p.span.rows)
		}
	}
	p := pages[0]
	shift := 0
	if len(pages) == 2 {
		shift = int(p.span.row - pages[1].span.row)
	}
	for k := range d.count {
		row := d.row(k)
		v := reflect.NewAt(b.field.typ, unsafe.Add(d.base, uintptr(k)*d.stride+b.field.offset)).Elem()
		v.SetZero()
		from, to := starts[0][row], starts[0][row+1]
		at := from
		if len(pages) == 2 {
			at = starts[1][row+shift]
			if starts[1][row+shift+1]-at != to-from {
				return fmt.Errorf("%w: keys and values differ in number", ErrCorrupt)
			}
		}
		for i := range to - from {
			if p.def[from+i] < b.leaf[0].maxDef {
				continue // an empty list, or a null in it
			}
			if b.field.form == list {
				v.Set(reflect.Append(v, p.reflect(&b.leaf[0], from+i, b.field.typ.Elem())))
				continue
			}
			if v.IsNil() {
				v.Set(reflect.MakeMap(b.field.typ))
			}
			v.SetMapIndex(p.reflect(&b.leaf[0], from+i, b.field.typ.Key()),
				pages[1].reflect(&b.leaf[1], at+i, b.field.typ.Elem()))
		}
	}
	return nil
}

// rowStarts gives the level at which each row of a nested page begins, and the
// end.
func rowStarts(p *page) []int {
	starts := make([]int, 0, p.span.rows+1)
	for i, r := range p.rep {
		if r == 0 {
			starts = append(starts, i)
		}
	}
	return append(starts, len(p.rep))
}

// reflect gives the value at a level.
func (p *page) reflect(l *leaf, level int, t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	at := p.value(level)
	if at < 0 {
		return v
	}
	vals := &p.values
	if p.dict != nil {
		vals = &p.dict.values
	}
	switch {
	case l.typ == format.ByteArray:
		v.SetString(string(vals.data[vals.offsets[at]:vals.offsets[at+1]]))
	case l.typ == format.Boolean:
		v.SetBool(p.bool(at))
	case v.CanInt() && l.typ == format.Int32:
		v.SetInt(int64(vals.int32[at]))
	case v.CanInt():
		v.SetInt(vals.int64[at])
	case v.CanUint() && l.typ == format.Int32:
		v.SetUint(uint64(uint32(vals.int32[at])))
	case v.CanUint():
		v.SetUint(uint64(vals.int64[at]))
	case l.typ == format.Float:
		v.SetFloat(float64(vals.float[at]))
	case l.typ == format.Double:
		v.SetFloat(vals.double[at])
	}
	return v
}
