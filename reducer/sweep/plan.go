package sweep

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/jobs"
)

// Grace is the least age of what is deleted: whoever still writes it, or reads it
// by a manifest from before, has given up by then.
const Grace = 24 * time.Hour

// Why an object goes.
const (
	Unnamed = "unnamed" // of an attempt; no kept snapshot names it
	Closed  = "closed"  // log or end of a task whose round is long over
)

// Delete is an object to be deleted.
type Delete struct {
	Key   layout.Key
	Bytes int64
	Why   string
}

// Facts is what a sweep knows.
type Facts struct {
	// Kept are snapshots that stay readable, the oldest first; between two of them
	// Edits tells what came and went.
	Kept []*lsm.Manifest
	// Edits are those of the commits after the oldest kept snapshot.
	Edits []lsm.Edit
	// Open are the jobs that are not over, queued ones too.
	Open []jobs.Spec
	// Closed is the newest job known to have committed; a snapshot that a takeover
	// made does not tell.
	Closed    uint64
	Epoch     uint64 // of the group that sweeps
	Now       time.Time
	Retention time.Duration
}

// Planner decides about objects by Facts.
type Planner struct {
	names  map[layout.Key]struct{}
	open   map[uint64]struct{}
	closed uint64 // jobs up to this one are over, unless open
	facts  Facts
}

// NewPlanner takes stock of what is named. That an open job's base is older than
// all kept snapshots is an error: what it reads would be deleted.
func NewPlanner(f Facts) (*Planner, error) {
	if len(f.Kept) == 0 {
		return nil, fmt.Errorf("sweep without a snapshot: everything would be deleted")
	}
	p := &Planner{names: map[layout.Key]struct{}{}, open: map[uint64]struct{}{}, facts: f,
		closed: f.Closed}
	oldest := f.Kept[0].N
	for _, m := range f.Kept {
		p.name(m.Files())
		p.closed = max(p.closed, m.Job)
		oldest = min(oldest, m.N)
	}
	for i := range f.Edits {
		p.name(f.Edits[i].Files())
	}
	for _, spec := range f.Open {
		if reads := spec.Reads(); reads < oldest && reads != 0 {
			return nil, fmt.Errorf("job %d reads snapshot %d; the oldest that is kept is %d", spec.Job,
				reads, oldest)
		}
		p.open[spec.Job] = struct{}{}
	}
	return p, nil
}

// Plan says which of the objects go, in their order.
func Plan(objects []objstore.Info, f Facts) ([]Delete, error) {
	p, err := NewPlanner(f)
	if err != nil {
		return nil, err
	}
	return p.Plan(objects), nil
}

// Plan says which of the objects go, in their order.
func (p *Planner) Plan(objects []objstore.Info) []Delete {
	var all []Delete
	for _, o := range objects {
		if why := p.decide(o); why != "" {
			all = append(all, Delete{Key: o.Key, Bytes: o.Size, Why: why})
		}
	}
	return all
}

// decide gives the reason why an object goes, or "".
func (p *Planner) decide(o objstore.Info) string {
	what, job, epoch := classify(o.Key)
	age := p.facts.Now.Sub(o.ModTime)
	_, open := p.open[job]
	_, named := p.names[o.Key]
	switch {
	case what == other || open || named || job > p.closed || age < Grace:
		return ""
	case what == output && epoch <= p.facts.Epoch:
		return Unnamed
	case what == record && age >= p.facts.Retention:
		return Closed
	}
	return ""
}

// Kinds of objects.
const (
	other  = iota // nothing that a sweep deletes
	output        // what an attempt wrote
	record        // a log entry or an end
)

// classify says what a key below rounds/ stands for, by the job and, of outputs,
// by the epoch of the attempt.
func classify(key layout.Key) (what int, job, epoch uint64) {
	job, err := layout.ParseJob(key)
	if err != nil {
		return other, 0, 0
	}
	parts := strings.Split(strings.TrimPrefix(key, layout.RoundPrefix), "/")
	if len(parts) < 4 { // spec, and what is not ours
		return other, job, 0
	}
	stage, task := parts[1], parts[2]
	n, err := strconv.Atoi(task)
	if err != nil || n < 0 || layout.Task(job, stage, n) != layout.Job(job)+stage+"/"+task+"/" {
		return other, job, 0
	}
	switch {
	case len(parts) == 4 && parts[3] == "end":
		return record, job, 0
	case len(parts) == 5 && parts[3] == "log":
		return record, job, 0
	}
	attempt, ok := parseAttempt(parts[3])
	if !ok || len(parts) < 5 {
		return other, job, 0
	}
	return output, job, attempt.Epoch
}

// parseAttempt reads what layout.Attempt prints.
func parseAttempt(s string) (layout.Attempt, bool) {
	digits, ok := strings.CutPrefix(s, "a")
	epoch, n, cut := strings.Cut(digits, "-")
	if !ok || !cut {
		return layout.Attempt{}, false
	}
	e, errE := strconv.ParseUint(epoch, 10, 64)
	number, errN := strconv.ParseUint(n, 10, 64)
	a := layout.Attempt{Epoch: e, N: number}
	return a, errE == nil && errN == nil && a.String() == s
}

func (p *Planner) name(files iter.Seq[lsm.File]) {
	for f := range files {
		p.names[f.Key] = struct{}{}
	}
}
