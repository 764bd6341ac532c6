package ui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"seine/coordinator/api"
	"seine/jobs"
)

// plainEvery is how often at most a line is printed where nobody watches.
const plainEvery = 10 * time.Second

// barWidth is a bar's width in cells.
const barWidth = 24

// Progress shows the progress of jobs.
type Progress struct {
	out      io.Writer
	terminal bool
	drawn    int // lines that the next drawing replaces
	stage    string
	printed  time.Time
}

// New shows on out: by bars if it is a terminal.
func New(out io.Writer) *Progress {
	p := &Progress{out: out}
	if f, ok := out.(*os.File); ok {
		p.terminal = term.IsTerminal(int(f.Fd()))
	}
	return p
}

// Terminal says whether bars are drawn.
func (p *Progress) Terminal() bool { return p.terminal }

// Show shows an open job.
func (p *Progress) Show(job api.Job, now time.Time) {
	if p.terminal {
		p.draw(Lines(job, now))
		return
	}
	stage := fmt.Sprint(job.Job, job.Stage, job.Phase)
	if stage == p.stage && now.Sub(p.printed) < plainEvery {
		return
	}
	if job.Phase == api.Queued && now.Sub(p.printed) < plainEvery {
		return // it is for a moment, as a rule
	}
	p.stage, p.printed = stage, now
	fmt.Fprintln(p.out, Line(job, now))
}

// Wait shows that nothing is done until a moment.
func (p *Progress) Wait(what string, until, now time.Time) {
	line := fmt.Sprintf("waiting %s for %s", Span(until.Sub(now)), what)
	if p.terminal {
		p.draw([]string{line})
		return
	}
	if p.stage == "wait" && now.Sub(p.printed) < plainEvery {
		return
	}
	p.stage, p.printed = "wait", now
	fmt.Fprintln(p.out, line)
}

// Say prints a line that stays.
func (p *Progress) Say(format string, args ...any) {
	p.Clear()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// Clear takes the bars away.
func (p *Progress) Clear() {
	if p.drawn > 0 {
		fmt.Fprintf(p.out, "\x1b[%dA\x1b[J", p.drawn)
		p.drawn = 0
	}
}

func (p *Progress) draw(lines []string) {
	width := 80
	if f, ok := p.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 10 {
			width = w
		}
	}
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	for _, line := range lines {
		b.WriteString(cut(line, width-1) + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	p.drawn = len(lines)
	io.WriteString(p.out, b.String())
}

// cut shortens a line to n characters: a line that wraps could not be drawn over.
func cut(line string, n int) string {
	if utf8.RuneCountInString(line) <= n {
		return line
	}
	return string([]rune(line)[:n-1]) + "…"
}

// Line is an open job in one line.
func Line(job api.Job, now time.Time) string {
	name := fmt.Sprintf("%s %d", job.Kind, job.Job)
	switch {
	case job.Phase == api.Queued:
		return string(job.Kind) + ": queued"
	case job.Phase == "blocked":
		return name + ": blocked: " + failures(job)
	case job.Phase == "publishing":
		return name + ": committing"
	case job.Held:
		return name + " " + string(job.Stage) + ": paused"
	case job.Stage != jobs.StageFetch:
		return fmt.Sprintf("%s %s: %s", name, job.Stage, tasks(job))
	}
	t, done := Running(job)
	line := fmt.Sprintf("%s fetch: %d of %d", name, done, t.Selected)
	since := time.UnixMilli(job.Since)
	if r := Rate(t.Fetched+t.Failed, now.Sub(since)); r != "" {
		line += ", " + r
	}
	if by := Reasons(t.ByReason, 6); by != "" {
		line += "; " + by
	}
	if notes := notes(job); len(notes) > 0 {
		line += "; " + notes[0]
	}
	return line
}

// Lines are the bars of an open job: one a stage, and what it waits for.
func Lines(job api.Job, now time.Time) []string {
	if job.Phase == api.Queued {
		return []string{Line(job, now)}
	}
	stages, err := jobs.Stages(job.Kind)
	if err != nil {
		return []string{Line(job, now)}
	}
	lines := []string{fmt.Sprintf("%s %d  %s", job.Kind, job.Job,
		Span(now.Sub(time.UnixMilli(job.Opened))))}
	began := map[jobs.Stage]api.Stage{}
	for _, s := range job.Stages {
		began[s.Stage] = s
	}
	for _, stage := range stages {
		s, ok := began[stage]
		switch {
		case !ok:
			lines = append(lines, fmt.Sprintf("  %-9s %s", stage, bar(0, 1)))
		case stage == jobs.StageFetch:
			lines = append(lines, fetchLines(job, now)...)
		default:
			lines = append(lines, fmt.Sprintf("  %-9s %s %d of %d", stage,
				bar(int64(s.Done()), int64(len(s.Tasks))), s.Done(), len(s.Tasks)))
		}
	}
	if job.Phase == "publishing" {
		lines = append(lines, "  committing")
	}
	if job.Held {
		lines = append(lines, "  paused; `seine resume` lets it go on")
	}
	if failed := failures(job); failed != "" {
		lines = append(lines, "  "+failed)
	}
	return lines
}

func fetchLines(job api.Job, now time.Time) []string {
	t, done := Running(job)
	line := fmt.Sprintf("  %-9s %s %d of %d", jobs.StageFetch, bar(done, t.Selected), done, t.Selected)
	if job.Stage == jobs.StageFetch {
		if r := Rate(t.Fetched+t.Failed, now.Sub(time.UnixMilli(job.Since))); r != "" {
			line += "  " + r
		}
	}
	lines := []string{line}
	if by := Reasons(t.ByReason, 6); by != "" {
		lines = append(lines, "            "+by)
	}
	if job.Stage == jobs.StageFetch {
		for i, note := range notes(job) {
			if i == 3 {
				break
			}
			lines = append(lines, "            "+note)
		}
	}
	return lines
}

func bar(done, of int64) string {
	full := 0
	if of > 0 {
		full = int(min(done, of) * barWidth / of)
	} else if of == 0 {
		full = barWidth
	}
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

func current(job api.Job) (api.Stage, bool) {
	for _, s := range job.Stages {
		if s.Stage == job.Stage {
			return s, true
		}
	}
	return api.Stage{}, false
}

func tasks(job api.Job) string {
	s, _ := current(job)
	return fmt.Sprintf("%d of %d tasks", s.Done(), len(s.Tasks))
}

// notes are what the tasks wait for.
func notes(job api.Job) (all []string) {
	s, _ := current(job)
	for _, t := range s.Tasks {
		if t.Note != "" {
			all = append(all, t.Note)
		}
	}
	return all
}

// failures are the errors of the tasks that are tried again, or not any more.
func failures(job api.Job) string {
	s, _ := current(job)
	for _, t := range s.Tasks {
		if t.Error != "" && t.Phase != "done" {
			return fmt.Sprintf("task %d (%s) failed %d times: %s", t.Index, t.Range, t.Failures, t.Error)
		}
	}
	return job.Error
}
