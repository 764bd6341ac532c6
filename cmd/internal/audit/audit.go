package audit

import (
	"context"
	"errors"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/weburl"
)

// Crawl is what is audited.
type Crawl struct {
	Store    objstore.Store
	Open     lsm.Opener
	Source   lsm.Source
	Suffixes *weburl.Suffixes
}

// Options say how deep an audit goes.
type Options struct {
	// ReadData reads every byte: whole rows, every key in its sidecar, archives.
	ReadData bool
	// Repair rebuilds damaged sidecars from their objects.
	Repair bool
	// Progress, where set, is told what is being checked.
	Progress func(check string)
}

// Finding is one thing that is wrong.
type Finding struct {
	Check  string     `json:"check"`
	Object layout.Key `json:"object,omitempty"`
	What   string     `json:"what"`
	Next   string     `json:"next"`
	Fixed  bool       `json:"fixed,omitempty"` // repaired by this audit
}

func (f Finding) String() string {
	s := f.Check + ": " + f.What
	if f.Object != "" {
		s = f.Check + ": " + f.Object + ": " + f.What
	}
	if f.Fixed {
		return s + " (repaired)"
	}
	return s + "; " + f.Next
}

// Report is what an audit found.
type Report struct {
	Snapshot uint64           `json:"snapshot"`
	Checked  map[string]int64 `json:"checked"` // how many things each check looked at
	Findings []Finding        `json:"findings"`
	More     map[string]int64 `json:"more,omitempty"` // findings of a check beyond those listed
}

// OK says whether nothing is wrong, or no longer.
func (r *Report) OK() bool {
	for _, f := range r.Findings {
		if !f.Fixed {
			return false
		}
	}
	return true
}

// listed is how many findings of one check are told one by one.
const listed = 20

// auditor is an audit under way.
type auditor struct {
	Crawl
	o      Options
	m      *lsm.Manifest
	report *Report
	counts map[string]int // findings a check
	broken map[layout.Key]bool
}

// Run audits snapshot m.
func Run(ctx context.Context, c Crawl, m *lsm.Manifest, o Options) (*Report, error) {
	a := &auditor{Crawl: c, o: o, m: m, counts: map[string]int{}, broken: map[layout.Key]bool{},
		report: &Report{Snapshot: m.N, Checked: map[string]int64{}, Findings: []Finding{},
			More: map[string]int64{}}}
	checks := []struct {
		name string
		run  func(context.Context) error
	}{
		{"commits", a.commits}, {"objects", a.objects}, {"sidecars", a.sidecars}, {"runs", a.runs},
		{"frontier", a.frontier}, {"rounds", a.rounds}, {"pages", a.pages}, {"links", a.links},
		{"others", a.others},
	}
	for _, check := range checks {
		if o.Progress != nil {
			o.Progress(check.name)
		}
		if err := check.run(ctx); err != nil {
			if ctx.Err() != nil || errors.Is(err, objstore.ErrUnavailable) {
				return nil, fmt.Errorf("check %s: %w", check.name, err)
			}
			a.find(check.name, "", err.Error(), nextRestore)
		}
	}
	return a.report, nil
}

// What to do next.
const (
	nextRestore = "restore the object from a copy, or go back with `seine snapshot restore`"
	nextReport  = "this is a fault of Seine: keep the store as it is and report it"
	nextRepair  = "rebuild it from its run with `seine check --repair`"
)

func (a *auditor) find(check string, object layout.Key, what, next string) {
	if a.counts[check]++; a.counts[check] > listed {
		a.report.More[check]++
		return
	}
	a.report.Findings = append(a.report.Findings, Finding{Check: check, Object: object, What: what,
		Next: next})
}

func (a *auditor) checked(name string, n int64) { a.report.Checked[name] += n }

// damaged notes an object that cannot be read; false: the error is another, and
// ends the audit.
func (a *auditor) damaged(ctx context.Context, check string, object layout.Key, err error) bool {
	if err == nil || ctx.Err() != nil || errors.Is(err, objstore.ErrUnavailable) {
		return false
	}
	if !a.broken[object] || object == "" {
		a.find(check, object, err.Error(), nextRestore)
	}
	if object != "" {
		a.broken[object] = true
	}
	return true
}
