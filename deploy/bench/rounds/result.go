package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// round is what a round did and cost.
type round struct {
	Listed     int64            `json:"listed"`
	Candidates int64            `json:"candidates"` // distinct targets of links
	KeyPages   int64            `json:"key_pages"`  // looked through by fold
	Filters    int64            `json:"filters"`    // asked by fold
	Merged     int64            `json:"merged"`     // rows that compaction decoded
	Counts     map[string]int64 `json:"counts"`
	Costs      map[string]cost  `json:"costs"` // by stage
}

// total is the cost of all stages.
func (r *round) total() (sum cost) {
	for _, c := range r.Costs {
		sum.add(c)
	}
	return sum
}

// result is a run.
type result struct {
	Shape   shape   `json:"shape"`
	Load    load    `json:"load"`
	Known   int64   `json:"known"`    // URLs before the first round
	KeyPage int64   `json:"key_page"` // bytes of a page of urls' column url
	Rounds  []round `json:"rounds"`
	// Bytes of urls a known URL, with sidecars and lists of superseded rows: with
	// the runs that the last round left, and with all of them merged; 0: not known.
	URLBytes     float64 `json:"url_bytes"`
	CompactBytes float64 `json:"compact_bytes"`
}

func pathOf(dir string) string { return dir + ".rounds.json" }

func (r *result) save(dir string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return os.WriteFile(pathOf(dir), b, 0o644)
}

func loadResult(dir string) (*result, error) {
	b, err := os.ReadFile(pathOf(dir))
	if err != nil {
		return nil, fmt.Errorf("%w; `rounds run -store %s` makes it", err, dir)
	}
	var r result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", pathOf(dir), err)
	}
	if len(r.Rounds) == 0 {
		return nil, fmt.Errorf("%s: it has no rounds", pathOf(dir))
	}
	return &r, nil
}

// sum is what all rounds cost, by stage, and their distinct candidates.
func (r *result) sum() (all cost, byStage map[string]cost, candidates, keyPages int64) {
	byStage = map[string]cost{}
	for i := range r.Rounds {
		for name, c := range r.Rounds[i].Costs {
			s := byStage[name]
			s.add(c)
			byStage[name] = s
			all.add(c)
		}
		candidates += r.Rounds[i].Candidates
		keyPages += r.Rounds[i].KeyPages
	}
	return all, byStage, candidates, keyPages
}

// print writes a round as lines, the stages apart.
func (r *round) print(out io.Writer, n int) error {
	c := r.total()
	_, err := fmt.Fprintf(out, "round %2d: %d pages, %d candidates (%d new), %d requests, %s read, "+
		"%s written, %s rows, %d key pages, %s, peak %s", n, r.Listed, r.Candidates, r.Counts["new"],
		c.Requests, size(c.Read), size(c.Written), count(c.Rows), r.KeyPages, short(c.Wall),
		size(c.Peak))
	if err == nil && r.Merged > 0 {
		_, err = fmt.Fprintf(out, "; compaction of %s rows", count(r.Merged))
	}
	if err == nil {
		_, err = fmt.Fprintln(out)
	}
	return err
}

// print writes the totals.
func (r *result) print(out io.Writer) error {
	all, byStage, candidates, keyPages := r.sum()
	n := int64(len(r.Rounds))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n%d known URLs, a round of %d\trequests\tread\twritten\trows\ttime\tpeak\t\n",
		r.Known, n)
	line := func(name string, c cost) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t\n", name, c.Requests/n, size(c.Read/n),
			size(c.Written/n), count(c.Rows/n), short(c.Wall/time.Duration(n)), size(c.Peak))
	}
	for _, name := range stages {
		line(name, byStage[name])
	}
	line("all", all)
	fmt.Fprintf(w, "a candidate (%d)\t%.3f\t%.0f\t%.0f\t%.0f\t\t\t\n", candidates/n,
		per(all.Requests, candidates), per(all.Read, candidates), per(all.Written, candidates),
		per(all.Rows, candidates))
	fmt.Fprintf(w, "urls, bytes a URL with live runs\t%.1f\t\t\t\t\t\t\n", r.URLBytes)
	if r.CompactBytes > 0 {
		fmt.Fprintf(w, "urls, bytes a URL merged\t%.1f\t\t\t\t\t\t\n", r.CompactBytes)
	}
	fmt.Fprintf(w, "key pages of %d bytes a candidate\t%.3f\t\t\t\t\t\t\n", r.KeyPage,
		per(keyPages, candidates))
	for _, name := range stages {
		c := byStage[name]
		for i, object := range c.most() {
			if u := c.Objects[object]; i < 8 {
				fmt.Fprintf(w, "%s of %s\t%d\t%s\t%s\t\t\t\t\n", object, name, u.Requests/n,
					size(u.Read/n), size(u.Written/n))
			}
		}
	}
	return w.Flush()
}

func per(a, b int64) float64 { return float64(a) / float64(max(b, 1)) }

// verdict is one target.
type verdict struct {
	what  string
	is    float64
	most  float64
	holds bool
}

func judge(what string, is, most float64) verdict { return verdict{what, is, most, is <= most} }

// pageRows is the rows of a page of a table.
const pageRows = 1024

// verdicts holds a run to the targets: about a key page a distinct candidate, and
// 2 GiB. Bytes are those read.
func (r *result) verdicts() []verdict {
	all, _, candidates, keyPages := r.sum()
	lines := []verdict{
		judge("key pages a candidate", per(keyPages, candidates), 1),
		judge("rows decoded a candidate", per(all.Rows, candidates), pageRows),
		judge("requests a candidate", per(all.Requests, candidates), 1),
		judge("bytes read a candidate, in key pages", per(all.Read, candidates*r.KeyPage), 1),
		judge("peak memory in GiB", float64(all.Peak)/(1<<30), 2),
		judge("bytes of urls a URL, live runs", r.URLBytes, 60),
	}
	if r.CompactBytes > 0 {
		lines = append(lines, judge("bytes of urls a URL, merged", r.CompactBytes, 40))
	}
	return lines
}

// growth is the most that ten times the database may cost.
const growth = 4

// against compares with a run on a smaller database.
func (r *result) against(small *result) []verdict {
	a, _, _, _ := r.sum()
	b, _, _, _ := small.sum()
	n, m := int64(len(r.Rounds)), int64(len(small.Rounds))
	ratio := func(x, y int64) float64 { return per(x*m, y*n) }
	return []verdict{judge("requests", ratio(a.Requests, b.Requests), growth),
		judge("bytes read", ratio(a.Read, b.Read), growth),
		judge("bytes written", ratio(a.Written, b.Written), growth),
		judge("rows decoded", ratio(a.Rows, b.Rows), growth)}
}

// compareSizes prints runs by the size of their databases, each with the targets
// and with its ratio to the one before.
func compareSizes(all []*result, out io.Writer) error {
	slices.SortFunc(all, func(a, b *result) int { return int(a.Known - b.Known) })
	for i, r := range all {
		if err := r.print(out); err != nil {
			return err
		}
		lines := r.verdicts()
		if err := printVerdicts(out, fmt.Sprintf("%d known URLs", r.Known), lines); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		sum, _, _, _ := r.sum()
		before, _, _, _ := all[i-1].sum()
		title := fmt.Sprintf("%d known URLs to %d (time %.1f times)", r.Known, all[i-1].Known,
			per(int64(sum.Wall)*int64(len(all[i-1].Rounds)), int64(before.Wall)*int64(len(r.Rounds))))
		if err := printVerdicts(out, title, r.against(all[i-1])); err != nil {
			return err
		}
	}
	return nil
}

func printVerdicts(out io.Writer, title string, lines []verdict) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n%s\tis\tat most\t\t\n", title)
	for _, v := range lines {
		word := "holds"
		if !v.holds {
			word = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%.3f\t%.0f\t%s\t\n", v.what, v.is, v.most, word)
	}
	return w.Flush()
}

// size prints bytes with three digits.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

func count(n int64) string {
	if n >= 1_000_000 {
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f k", float64(n)/1e3)
}

func short(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }
