// Package jobs says what a job of Seine is: its spec, its stages, its tasks,
// and which stage comes after which. It knows nothing of stores, Parquet or
// networks, so that the coordinator can schedule what it cannot touch. The
// package is pure and safe for concurrent use.
//
// A job is one writing job with a number. Its stages run one after another,
// the tasks of a stage side by side, each over a range of partitions; the
// ranges are fixed when the job is submitted. A commit ends it.
package jobs

import (
	"encoding/json"
	"fmt"
	"slices"

	"seine/formats/layout"
)

// Kind is a kind of job; each has a file of its own.
type Kind string

// Stage is one step of a job.
type Stage string

// Spec is the object rounds/R/spec, put once: with it and the committed objects
// it names, every stage but fetch is a function.
type Spec struct {
	Format    int            `json:"format"`
	Job       uint64         `json:"job"` // R, from 1; also the ticket of the rows it queues
	Kind      Kind           `json:"kind"`
	Epoch     uint64         `json:"epoch"`
	Base      uint64         `json:"base"` // the snapshot that it reads
	Now       int64          `json:"now"`  // ms; max(last + 1 s, wall)
	Settings  uint64         `json:"settings"`
	Ranges    []layout.Range `json:"ranges"`
	RequestID string         `json:"request_id"`
	Round     *Round         `json:"round,omitempty"`
	Inject    *Inject        `json:"inject,omitempty"`
	Requeue   *Requeue       `json:"requeue,omitempty"`
	Restore   *Restore       `json:"restore,omitempty"`
	Prune     *Prune         `json:"prune,omitempty"`
	Compact   *Compact       `json:"compact,omitempty"`
}

// Task is one task as a worker gets it.
type Task struct {
	Spec    Spec           `json:"spec"`
	Stage   Stage          `json:"stage"`
	Index   int            `json:"index"`
	Range   layout.Range   `json:"range"`
	Attempt layout.Attempt `json:"attempt"`
	// Inputs are the ends of the stages before, by stage and task index.
	Inputs map[Stage][]layout.Key `json:"inputs,omitempty"`
	// Closing: only seal what is there and end the log (DESIGN §8).
	Closing bool `json:"closing,omitempty"`
	// Deadline is the hard stop of a fetch task, ms; 0: none.
	Deadline int64    `json:"deadline,omitempty"`
	Suspects []string `json:"suspects,omitempty"` // URLs that were being parsed at two deaths
}

// ID prints a task as job/stage/index.
func (t Task) ID() string { return fmt.Sprintf("%d/%s/%d", t.Spec.Job, t.Stage, t.Index) }

// Result is what a finished task leaves: the object that ends it, and counts
// for the report.
type Result struct {
	End    layout.Key       `json:"end"`
	Counts map[string]int64 `json:"counts,omitempty"`
}

// Stages returns the stages of a kind of job in order.
func Stages(k Kind) ([]Stage, error) {
	switch k {
	case KindRound:
		return []Stage{StageGenerate, StageFetch, StageReduce}, nil
	case KindInject:
		return []Stage{StageInject}, nil
	case KindRequeue:
		return []Stage{StageRequeue}, nil
	case KindRestore:
		return []Stage{StageRestore}, nil
	case KindPrune:
		return []Stage{StagePrune}, nil
	case KindCompact:
		return []Stage{StageCompact}, nil
	}
	return nil, fmt.Errorf("unknown kind of job %q: use a newer seine", k)
}

// Upkeep says whether a job of a kind, with what it requeues if it does, is the
// coordinator's own: begun by it between other jobs, and dropped if it fails.
func Upkeep(k Kind, r *Requeue) bool {
	return k == KindCompact || k == KindPrune || r != nil && len(r.Room) > 0
}

// Reads is the oldest snapshot that a job reads.
func (s Spec) Reads() uint64 {
	if s.Restore != nil {
		return min(s.Base, s.Restore.Snapshot)
	}
	return s.Base
}

// Next returns the stage after s, or false after the last.
func Next(k Kind, s Stage) (Stage, bool) {
	stages, err := Stages(k)
	if err != nil {
		return "", false
	}
	i := slices.Index(stages, s)
	if i < 0 || i+1 == len(stages) {
		return "", false
	}
	return stages[i+1], true
}

// Function says whether a stage is a function of committed objects: it may run
// twice and give the same bytes. Only fetch is not.
func (s Stage) Function() bool { return s != StageFetch }

// SpecFormat is the version of specs.
const SpecFormat = 1

// Encode writes the spec as it is stored.
func (s Spec) Encode() ([]byte, error) { return json.MarshalIndent(s, "", " ") }

// DecodeSpec reads a stored spec; a damaged or newer one is an error.
func DecodeSpec(b []byte) (Spec, error) {
	var s Spec
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("damaged spec: %w", err)
	}
	if s.Format < 1 || s.Format > SpecFormat {
		return s, fmt.Errorf("spec of format %d; this build reads up to %d: use a newer seine",
			s.Format, SpecFormat)
	}
	return s, nil
}
