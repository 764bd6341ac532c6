package lsm

// folder gathers the rows of one key, newest first, into what the key is.
type folder[R any] struct {
	t     Table[R]
	rows  []R // newest first
	refs  []Ref
	whole bool // the last of rows is whole
}

func (f *folder[R]) reset() { f.rows, f.refs, f.whole = f.rows[:0], f.refs[:0], false }

// add takes the next older row; what is older than a whole row says nothing.
func (f *folder[R]) add(row *R, ref Ref) {
	if f.whole {
		return
	}
	f.rows = append(f.rows, *row)
	f.refs = append(f.refs, ref)
	f.whole = !f.t.isDelta(row)
}

// fold gives the folded row; it is a delta where no whole row was added.
func (f *folder[R]) fold() *R {
	base := &f.rows[len(f.rows)-1]
	for i := len(f.rows) - 2; i >= 0; i-- {
		f.t.Fold(base, &f.rows[i])
	}
	return base
}
