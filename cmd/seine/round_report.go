package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/formats/objstore"
	"seine/formats/schema"
	"seine/jobs"
)

// roundSummary is a round that has ended, as it is printed.
type roundSummary struct {
	Round    uint64               `json:"round"`
	Outcome  string               `json:"outcome"`
	Commit   uint64               `json:"commit,omitempty"`
	Opened   int64                `json:"opened"`                   // ms
	Ended    int64                `json:"ended"`                    // ms
	Requests int64                `json:"store_requests,omitempty"` // by Cost
	Partial  int                  `json:"partial_tasks,omitempty"`
	Error    string               `json:"error,omitempty"`
	Cost     []node.StageRequests `json:"store_requests_by_stage,omitempty"`
	ui.Tally
}

func summaryOf(job api.Job) roundSummary {
	s := roundSummary{Round: job.Job, Outcome: string(job.Outcome), Commit: job.Commit,
		Opened: job.Opened, Ended: job.Ended, Partial: len(job.Partial), Error: job.Error,
		Tally: ui.Ended(job.Counts)}
	s.setCost(job.Kind, job.Counts)
	return s
}

// setCost takes what the job asked of the store from its counts.
func (s *roundSummary) setCost(kind jobs.Kind, counts map[string]int64) {
	s.Cost = node.Requests(kind, counts)
	for _, stage := range s.Cost {
		s.Requests += stage.Total
	}
}

// took is how long the round took. Its own time may run before the clock (jobs
// are a second apart), so it is never below zero.
func (s roundSummary) took() time.Duration {
	return max(0, time.Duration(s.Ended-s.Opened)*time.Millisecond)
}

func (a *app) printJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", b)
	return err
}

// printRound says how a round ended: selected = fetched + refused + failed +
// untouched, by reason.
func (a *app) printRound(s roundSummary) error {
	if a.json {
		return a.printJSON(s)
	}
	_, err := fmt.Fprint(a.out, roundText(s))
	return err
}

func roundText(s roundSummary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "round %d: selected %d = fetched %d + refused %d + failed %d + untouched %d\n",
		s.Round, s.Selected, s.Fetched, s.Refused, s.Failed, s.Untouched)
	if len(s.ByReason) > 0 {
		fmt.Fprintf(&b, "  %s\n", ui.Reasons(s.ByReason, 0))
	}
	took := s.took()
	parts := []string{ui.Bytes(s.Bytes), ui.Span(took)}
	if r := ui.Rate(s.Fetched+s.Failed, took); r != "" {
		parts = append(parts, r)
	}
	if s.Requests > 0 {
		parts = append(parts, fmt.Sprintf("%d requests to the store (%s)", s.Requests, costShort(s.Cost)))
	}
	if len(s.Extra) > 0 {
		parts = append(parts, "besides "+ui.Reasons(s.Extra, 4))
	}
	fmt.Fprintf(&b, "  %s\n", strings.Join(parts, ", "))
	if len(s.Sources) > 0 {
		fmt.Fprintf(&b, "  requests from %s\n", ui.Reasons(s.Sources, 0))
	}
	if s.Outcome != "commit" && s.Outcome != "committed" && s.Outcome != "" {
		fmt.Fprintf(&b, "  it was ended as: %s\n", s.Outcome)
	}
	if s.Partial > 0 {
		fmt.Fprintf(&b, "  %d parts FAILED and were left out: their URLs wait again\n", s.Partial)
	}
	return b.String()
}

// costShort names what each stage asked of the store.
func costShort(cost []node.StageRequests) string {
	var parts []string
	for _, c := range cost {
		parts = append(parts, fmt.Sprintf("%s %d", c.Stage, c.Total))
	}
	return strings.Join(parts, ", ")
}

// costTable is what each stage asked of the store, by kind of request.
func costTable(cost []node.StageRequests) string {
	if len(cost) == 0 {
		return ""
	}
	kinds := []objstore.Kind{objstore.OpGet, objstore.OpRead, objstore.OpPut, objstore.OpStat,
		objstore.OpList, objstore.OpDelete}
	var b strings.Builder
	fmt.Fprintf(&b, "  requests to the store:\n  %-12s", "")
	for _, kind := range kinds {
		fmt.Fprintf(&b, "%8s", kind)
	}
	fmt.Fprintf(&b, "%12s%12s\n", "read", "written")
	for _, c := range cost {
		fmt.Fprintf(&b, "  %-12s", c.Stage)
		for _, kind := range kinds {
			fmt.Fprintf(&b, "%8d", c.By[string(kind)])
		}
		fmt.Fprintf(&b, "%12s%12s\n", ui.Bytes(c.BytesRead), ui.Bytes(c.BytesWritten))
	}
	return b.String()
}

// whyText says in words why URLs wait.
func whyText(why string) string {
	switch why {
	case schema.WhySlot:
		return "their domain's next slot"
	case schema.WhyDay:
		return "another day: their domain has had its pages of this one (pages_day)"
	case schema.WhyBackoff:
		return "a back-off that their site asked for"
	case schema.WhyRetry:
		return "another try"
	case schema.WhyRecrawl:
		return "another look"
	case schema.WhyNew:
		return "their first turn"
	}
	return why
}

// clock prints a moment: the time alone if it is near.
func clock(ms int64, now time.Time) string {
	if ms == 0 {
		return "never"
	}
	t := time.UnixMilli(ms)
	if d := t.Sub(now); d > -12*time.Hour && d < 12*time.Hour {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2006-01-02 15:04")
}

// waitLines say what waits, why and until when.
func waitLines(w node.Waits, now time.Time) []string {
	about := ""
	if !w.Exact {
		about = "about "
	}
	var lines []string
	if w.Due > 0 {
		lines = append(lines, fmt.Sprintf("%s%d are due", about, w.Due))
	}
	for _, by := range w.By {
		line := fmt.Sprintf("%s%d wait for %s: %s", about, by.URLs, whyText(by.Why), clock(by.First, now))
		if clock(by.Last, now) != clock(by.First, now) {
			line += " to " + clock(by.Last, now)
		}
		lines = append(lines, line)
	}
	return lines
}

// conclude says why the crawl ends and what waits.
func (r *crawler) conclude(e *ending) error {
	now := time.Now()
	if r.app.json {
		err := r.app.printJSON(map[string]any{"crawl": map[string]any{"limit": e.limit,
			"rounds": r.rounds, "snapshot": e.head.N, "known": e.head.Known, "waits": e.waits,
			"fetched": r.total.Fetched, "failed": r.total.Failed, "refused": r.total.Refused,
			"bytes": r.total.Bytes}})
		if err != nil {
			return err
		}
	} else if err := r.printEnd(e, now); err != nil {
		return err
	}
	if r.total.ByReason[schema.NoContact] > 0 {
		return exitError{exitWaiting, errors.New("public addresses were left alone, because site owners " +
			"could not reach you: go on with --contact you@example.org")}
	}
	if e.limit != "" {
		return exitError{exitWaiting, fmt.Errorf("stopped by %s; the same command goes on", e.limit)}
	}
	return nil
}

func (r *crawler) printEnd(e *ending, now time.Time) error {
	var b strings.Builder
	why := "nothing is due"
	if e.limit != "" {
		why = e.limit + " is reached"
	}
	fmt.Fprintf(&b, "%s: %d rounds, %d fetched, %d refused, %d failed, %s in %s; %d URLs known, snapshot %d\n",
		why, r.rounds, r.total.Fetched, r.total.Refused, r.total.Failed, ui.Bytes(r.total.Bytes),
		ui.Span(now.Sub(r.began)), e.head.Known, e.head.N)
	for _, line := range waitLines(e.waits, now) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if first := firstWait(e.waits); e.limit == "" && first > 0 {
		d := time.UnixMilli(first).Sub(now).Round(time.Minute) + time.Minute
		fmt.Fprintf(&b, "  `seine crawl --wait %v` sleeps for the first of them\n", shortSpan(d))
	}
	_, err := fmt.Fprint(r.app.out, b.String())
	return err
}

func firstWait(w node.Waits) int64 {
	var first int64
	for _, by := range w.By {
		if first == 0 || by.First < first {
			first = by.First
		}
	}
	return first
}

// shortSpan prints whole minutes or hours without zeros.
func shortSpan(d time.Duration) string {
	if d >= 2*time.Hour {
		return fmt.Sprintf("%dh", int(d.Hours())+1)
	}
	return fmt.Sprintf("%dm", int(d.Minutes()))
}
