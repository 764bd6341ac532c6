package lsm

import (
	"iter"

	"seine/formats/layout"
	"seine/formats/schema"
)

// File is an object of the store that a snapshot names.
type File struct {
	Table   string // of whose rows it is, a kind of frontier run, or schema.WARC
	Round   uint64 // the part it is of; 0: of a run
	Key     layout.Key
	Rows    int64 // 0 of what goes with other objects: sidecars, superseded rows, archives
	Bytes   int64
	Sidecar bool // it can be made again from its run
}

// Files goes over all objects that the snapshot names, in no certain order.
func (m *Manifest) Files() iter.Seq[File] {
	return func(yield func(File) bool) { m.files(yield) }
}

// Files goes over all objects that the edit adds, in no certain order: those of
// the snapshot that it restores, too.
func (e *Edit) Files() iter.Seq[File] {
	return func(yield func(File) bool) {
		for table, run := range e.AddRuns {
			if !files(table, 0, run.Objects, yield) {
				return
			}
		}
		if !queueFiles(e.AddFrontier, yield) || e.Part != nil && !e.Part.files(yield) {
			return
		}
		for i := range e.ReplaceParts {
			if !e.ReplaceParts[i].files(yield) {
				return
			}
		}
		if e.Restore != nil {
			e.Restore.files(yield)
		}
	}
}

func (m *Manifest) files(yield func(File) bool) bool {
	for table, runs := range m.Tables {
		for _, run := range runs {
			if !files(table, 0, run.Objects, yield) {
				return false
			}
		}
	}
	if !queueFiles(m.Frontier, yield) {
		return false
	}
	for i := range m.Parts {
		if !m.Parts[i].files(yield) {
			return false
		}
	}
	return true
}

func (p *Part) files(yield func(File) bool) bool {
	for table, objects := range p.Tables {
		if !files(table, p.Round, objects, yield) {
			return false
		}
	}
	for _, w := range p.WARC {
		if !yield(File{Table: schema.WARC, Round: p.Round, Key: w.Key, Bytes: w.Bytes}) {
			return false
		}
	}
	return true
}

func queueFiles(runs []QueueRun, yield func(File) bool) bool {
	for _, run := range runs {
		for _, o := range run.Objects {
			if !files(run.Kind, 0, []Object{o.Object}, yield) {
				return false
			}
		}
	}
	return true
}

func files(table string, round uint64, objects []Object, yield func(File) bool) bool {
	for _, o := range objects {
		of := [...]File{
			{Table: table, Round: round, Key: o.Key, Rows: o.Rows, Bytes: o.Bytes},
			{Table: table, Round: round, Key: o.Sidecar, Bytes: o.SidecarBytes, Sidecar: true},
			{Table: table, Round: round, Key: o.Superseded, Bytes: o.SupersededBytes},
		}
		for _, f := range of {
			if f.Key != "" && !yield(f) {
				return false
			}
		}
	}
	return true
}
