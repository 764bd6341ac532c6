// Package taskend is the end objects of the tasks that are functions: what a
// finished generate, reduce, inject or compact task left, as JSON at
// layout.End, put once. A fetch task's end is in its log (formats/tasklog).
// The package is pure.
package taskend

import (
	"encoding/json"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
)

// Format is the version of end objects.
const Format = 1

// Generate is the end of a generate task. Everything it names is visible only
// by the commit that the round's reduce leads to.
type Generate struct {
	Format int          `json:"format"`
	Range  layout.Range `json:"range"`
	// Lists holds schema.List rows by (partition, domain, host, url).
	Lists *lsm.Object `json:"lists,omitempty"`
	// Deferred holds schema.FrontierRow that go back to waiting, with new due and
	// why and their old ticket, in waiting order.
	Deferred *lsm.Object `json:"deferred,omitempty"`
	// Moved holds schema.FrontierRow that became due and were not popped, in
	// ready order.
	Moved *lsm.Object `json:"moved,omitempty"`
	// Refused holds schema.Fetch rows (final, kind page) of URLs that today's
	// rules refuse, by (domain, host, url).
	Refused *lsm.Object `json:"refused,omitempty"`
	// Slots holds schema.Domain rows of which only the key and NextSlot count, by
	// key: domains whose next slot moved.
	Slots *lsm.Object `json:"slots,omitempty"`
	// Cursors are the new cursors of the frontier's objects that overlap Range:
	// entries of partitions outside Range are -1 (another task's).
	Cursors map[layout.Key][]int64 `json:"cursors,omitempty"`
	Stopped string                 `json:"stopped"` // quota, popped, empty: what ended the popping
	Counts  map[string]int64       `json:"counts"`  // selected, popped, dropped, deferred, moved, refused, by band
}

// Reduce is the end of a reduce, inject or compact task: this task's part of
// the job's edit.
type Reduce struct {
	Format int          `json:"format"`
	Range  layout.Range `json:"range"`
	// Tables holds the run objects written, by table.
	Tables  map[string]lsm.Object   `json:"tables,omitempty"`
	Waiting *lsm.QueueObject        `json:"waiting,omitempty"`
	Ready   *lsm.QueueObject        `json:"ready,omitempty"`
	Append  map[string][]lsm.Object `json:"append,omitempty"` // append tables
	WARC    []lsm.WARCFile          `json:"warc,omitempty"`
	// Parts take the places of those of the same rounds: what prune leaves.
	Parts    []lsm.Part `json:"parts,omitempty"`
	Absorbed []string   `json:"absorbed,omitempty"` // frontier runs (kind/id) rewritten whole in Range
	Known    int64      `json:"known"`              // change of known URLs
	Tickets  int64      `json:"tickets"`            // change of URLs with a ticket
	// Room are the partitions, ascending, in which a politeness group that keeps
	// URLs back as domain_full has room for them.
	Room   []uint16         `json:"room,omitempty"`
	Counts map[string]int64 `json:"counts"` // for the report: by reason, and totals
}

// Encode writes an end object.
func Encode(end any) ([]byte, error) { return json.MarshalIndent(end, "", " ") }

// DecodeGenerate reads a generate task's end.
func DecodeGenerate(b []byte) (*Generate, error) {
	var end Generate
	if err := json.Unmarshal(b, &end); err != nil {
		return nil, fmt.Errorf("damaged end of a generate task: %w", err)
	}
	return &end, checkFormat(end.Format)
}

// DecodeReduce reads the end of a reduce, inject or compact task.
func DecodeReduce(b []byte) (*Reduce, error) {
	var end Reduce
	if err := json.Unmarshal(b, &end); err != nil {
		return nil, fmt.Errorf("damaged end of a task: %w", err)
	}
	return &end, checkFormat(end.Format)
}

func checkFormat(f int) error {
	if f < 1 || f > Format {
		return fmt.Errorf("end object of format %d; this build reads 1 to %d", f, Format)
	}
	return nil
}
