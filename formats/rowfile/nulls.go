package rowfile

import (
	"math/bits"
	"reflect"
	"unsafe"
)

// blockRows is how many rows the library writes at a time.
const blockRows = 64

// wholeNulls says how many of a block's first rows can be written at once so that
// zero values of optional columns become nulls. parquet-go 0.32 looks for runs of
// set values in a bitmap of the block, and takes a run of k values that begins at
// row k, with only nulls behind, to reach the block's end: its test compares with
// 1<<k where it means 1<<(64-k) (writeRowsFuncOfOptional). A block that ends with
// the run is written right, so it is cut there.
func (s *shape) wholeNulls(block unsafe.Pointer, stride uintptr, n int) int {
	var sets []uint64
	for i := range s.fields {
		if f := &s.fields[i]; f.optional && f.form == scalar {
			sets = append(sets, f.set(unsafe.Add(block, f.offset), stride, n))
		}
	}
	for cut := n; ; n = cut {
		for _, set := range sets {
			set &= 1<<n - 1
			end := bits.Len64(set)
			run := bits.LeadingZeros64(^(set << (blockRows - end)))
			if end < n && run > 0 && end == 2*run {
				cut = min(cut, end)
			}
		}
		if cut == n {
			return n
		}
	}
}

// set has bit i where the field of row i is no zero value.
func (f *field) set(at unsafe.Pointer, stride uintptr, n int) (set uint64) {
	switch size := f.typ.Size(); {
	case f.kind == reflect.String:
		for i := range n {
			if *(*string)(unsafe.Add(at, uintptr(i)*stride)) != "" {
				set |= 1 << i
			}
		}
	case size == 4:
		for i := range n {
			if *(*uint32)(unsafe.Add(at, uintptr(i)*stride)) != 0 {
				set |= 1 << i
			}
		}
	case size == 8:
		for i := range n {
			if *(*uint64)(unsafe.Add(at, uintptr(i)*stride)) != 0 {
				set |= 1 << i
			}
		}
	default:
		for i := range n {
			if !reflect.NewAt(f.typ, unsafe.Add(at, uintptr(i)*stride)).Elem().IsZero() {
				set |= 1 << i
			}
		}
	}
	return set
}
