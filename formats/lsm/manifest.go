package lsm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"seine/formats/layout"
)

// Object is one immutable Parquet object of a table: the rows of the
// partitions Range, sorted by the table's key, the partitions' row offsets in
// its footer.
type Object struct {
	Key          layout.Key   `json:"key"`
	Range        layout.Range `json:"range"`
	Rows         int64        `json:"rows"`
	Bytes        int64        `json:"bytes"`
	Sidecar      layout.Key   `json:"sidecar,omitempty"` // page keys and Bloom filters
	SidecarBytes int64        `json:"sidecar_bytes,omitempty"`
	// Superseded names, where it is set, an object of schema.SupersededRow: the
	// rows of older runs that rows of this object replace.
	Superseded     layout.Key `json:"superseded,omitempty"`
	SupersededRows int64      `json:"superseded_rows,omitempty"`
	// SupersededBytes is the size of the Superseded object.
	SupersededBytes int64 `json:"superseded_bytes,omitempty"`
	Deltas          int64 `json:"deltas,omitempty"` // how many rows are delta rows
}

// Run is all that one job wrote for a run table, one object a task.
type Run struct {
	ID      string   `json:"id"`  // "r00000012", or "c00000012" from a compaction
	Seq     uint64   `json:"seq"` // newest round in it: orders runs by age
	Objects []Object `json:"objects"`
}

// Rows is the number of rows in the run.
func (r Run) Rows() (n int64) {
	for _, o := range r.Objects {
		n += o.Rows
	}
	return n
}

// Bytes is the size of the run's objects with their sidecars and lists.
func (r Run) Bytes() (n int64) {
	for _, o := range r.Objects {
		n += o.Bytes + o.SidecarBytes + o.SupersededBytes
	}
	return n
}

// QueueObject is an object of frontier rows and how much of it is consumed.
// Index i of Counts, Cursor and Marks stands for partition Range.Lo+i.
type QueueObject struct {
	Object
	Counts []int64 `json:"counts"` // rows of each partition
	Cursor []int64 `json:"cursor"` // of these, consumed from the front; nil: none
	// Marks are 16 evenly spaced values of the sort column over the whole object
	// (waiting: due, ascending; ready: rank, descending): mark i is the value of
	// row (2i+1)·rows/32. Quotas are estimated from them.
	Marks []int64 `json:"marks"`
}

// Left is the number of rows not yet consumed.
func (o QueueObject) Left() int64 {
	n := o.Rows
	for _, c := range o.Cursor {
		n -= c
	}
	return n
}

// QueueRun is a run of the frontier, of kind schema.Waiting or schema.Ready.
type QueueRun struct {
	ID      string        `json:"id"`
	Kind    string        `json:"kind"`
	Seq     uint64        `json:"seq"`
	Objects []QueueObject `json:"objects"`
}

// Part is what one job added to the append tables, or what prune has joined of
// several.
type Part struct {
	Round uint64 `json:"round"` // the job; of a joined part the newest
	// First, where it is set, makes the part a joined one: it holds what is left of
	// the parts of the jobs First to Round.
	First  uint64              `json:"first,omitempty"`
	Now    int64               `json:"now,omitempty"` // ms, the job's
	Tables map[string][]Object `json:"tables"`        // table → objects
	WARC   []WARCFile          `json:"warc,omitempty"`
	// Pruned: retention has taken rows or tables of the part away.
	Pruned bool `json:"pruned,omitempty"`
}

// Oldest is the oldest job whose rows the part may hold.
func (p *Part) Oldest() uint64 { return cmp.Or(p.First, p.Round) }

// WARCFile is a WARC object that a part's rows point into.
type WARCFile struct {
	Key   layout.Key `json:"key"`
	Bytes int64      `json:"bytes"`
}

// Manifest is a whole snapshot: every object that counts after commit N.
type Manifest struct {
	Format   int              `json:"format"`
	N        uint64           `json:"n"`
	Epoch    uint64           `json:"epoch"`
	Job      uint64           `json:"job"` // the newest that committed; 0: none did
	Now      int64            `json:"now"` // ms, the job's
	Settings uint64           `json:"settings"`
	Tables   map[string][]Run `json:"tables"` // oldest run first
	Frontier []QueueRun       `json:"frontier"`
	Parts    []Part           `json:"parts"` // oldest first
	// Totals that plans and reports need without reading a table.
	Known   int64 `json:"known"`   // rows of urls that are no deltas and not superseded
	Waiting int64 `json:"waiting"` // URLs with a ticket
	// Pruned is when a prune job last looked at the append tables, ms.
	Pruned int64 `json:"pruned,omitempty"`
	// Room are the partitions, ascending, in which a politeness group that keeps
	// URLs back as domain_full has room for them: a requeue job is due there.
	Room []uint16 `json:"room,omitempty"`
}

// Edit is what a job changes. Applying it to the manifest that it was made for
// gives the next one.
type Edit struct {
	Settings       uint64                 `json:"settings,omitempty"`
	AddRuns        map[string]Run         `json:"add_runs,omitempty"`    // table → run
	RemoveRuns     map[string][]string    `json:"remove_runs,omitempty"` // table → run ids
	AddFrontier    []QueueRun             `json:"add_frontier,omitempty"`
	RemoveFrontier []string               `json:"remove_frontier,omitempty"` // kind/id
	Cursors        map[layout.Key][]int64 `json:"cursors,omitempty"`         // queue object → cursor
	Part           *Part                  `json:"part,omitempty"`
	KnownDelta     int64                  `json:"known_delta,omitempty"`
	WaitingDelta   int64                  `json:"waiting_delta,omitempty"`
	Takeover       bool                   `json:"takeover,omitempty"`
	// Restore, where it is set, is what the rest of the edit is applied to,
	// instead of the snapshot before: an older snapshot comes back.
	Restore *Manifest `json:"restore,omitempty"`
	// ReplaceParts take the places of the parts of the same jobs: each of one, or,
	// joined, of all those from First to Round.
	ReplaceParts []Part `json:"replace_parts,omitempty"`
	Pruned       int64  `json:"pruned,omitempty"` // ms; the manifest's, where it is set
	// AddRoom joins the manifest's Room, RemoveRoom leaves it.
	AddRoom    []uint16 `json:"add_room,omitempty"`
	RemoveRoom []uint16 `json:"remove_room,omitempty"`
}

// Commit is the object commits/N: it makes a snapshot visible, whole or not at
// all. Every WholeEvery-th, and the first, carries the whole manifest.
type Commit struct {
	Format int       `json:"format"`
	N      uint64    `json:"n"`
	Epoch  uint64    `json:"epoch"`
	Job    uint64    `json:"job"` // 0: a takeover
	Kind   string    `json:"kind"`
	Now    int64     `json:"now"`
	Edit   Edit      `json:"edit"`
	Whole  *Manifest `json:"whole,omitempty"` // after the edit
	// Expired: no snapshot needs the commit any more, and sweep has put this in its
	// place, without Edit and Whole. The object stays, because the number must: it
	// is what turns away a committer of long ago, and what the search for the newest
	// commit walks over.
	Expired bool `json:"expired,omitempty"`
}

// Format is the newest version of commits and of the manifests in them. A commit
// is written in the oldest that can say it, so that an older build reads what it
// understands: 1 knows neither expired commits nor joined parts.
const Format = 2

// WholeEvery is how often a commit carries the whole manifest, which bounds how
// far a reader walks back.
const WholeEvery = 16

// ErrExpired: retention has let a snapshot go.
var ErrExpired = errors.New("the snapshot has expired")

// Expire is what is left of a commit that no snapshot needs.
func (c *Commit) Expire() *Commit {
	return &Commit{Format: Format, N: c.N, Epoch: c.Epoch, Job: c.Job, Kind: c.Kind, Now: c.Now,
		Expired: true}
}

// format is the oldest that can say what the commit says.
func (c *Commit) format() int {
	joined := func(p Part) bool { return p.First != 0 }
	if c.Expired || slices.ContainsFunc(c.Edit.ReplaceParts, joined) ||
		c.Edit.Restore != nil && slices.ContainsFunc(c.Edit.Restore.Parts, joined) ||
		c.Whole != nil && slices.ContainsFunc(c.Whole.Parts, joined) {
		return Format
	}
	return 1
}

// Apply returns the manifest after c, leaving m as it was. A commit that does
// not follow m, that has expired, or that names what m does not hold, is an error.
func (m *Manifest) Apply(c *Commit) (*Manifest, error) {
	if c.N != m.N+1 {
		return nil, fmt.Errorf("commit %d does not follow snapshot %d", c.N, m.N)
	}
	if c.Expired {
		return nil, fmt.Errorf("commit %d: %w", c.N, ErrExpired)
	}
	from := m
	if c.Edit.Restore != nil {
		from = c.Edit.Restore
	}
	next := &Manifest{Format: 1, N: c.N, Epoch: c.Epoch, Job: c.Job, Now: c.Now,
		Settings: m.Settings, Tables: maps.Clone(from.Tables), Frontier: from.Frontier,
		Parts: from.Parts, Known: from.Known + c.Edit.KnownDelta,
		Waiting: from.Waiting + c.Edit.WaitingDelta, Pruned: max(from.Pruned, c.Edit.Pruned),
		Room: editRoom(from.Room, &c.Edit)}
	if next.Tables == nil {
		next.Tables = map[string][]Run{}
	}
	if c.Job == 0 { // a takeover: no job's, and at no time of the crawl's
		next.Job, next.Now = m.Job, m.Now
	}
	if c.Edit.Settings != 0 {
		next.Settings = c.Edit.Settings
	}
	if err := next.editTables(&c.Edit); err != nil {
		return nil, fmt.Errorf("commit %d: %w", c.N, err)
	}
	if err := next.editFrontier(&c.Edit); err != nil {
		return nil, fmt.Errorf("commit %d: %w", c.N, err)
	}
	if err := next.replaceParts(c.Edit.ReplaceParts); err != nil {
		return nil, fmt.Errorf("commit %d: %w", c.N, err)
	}
	if c.Edit.Part != nil {
		next.Parts = append(slices.Clip(next.Parts), *c.Edit.Part)
	}
	return next, nil
}

// editRoom is a manifest's Room after an edit; nil where there is none.
func editRoom(before []uint16, e *Edit) []uint16 {
	room := slices.Concat(before, e.AddRoom)
	slices.Sort(room)
	room = slices.DeleteFunc(slices.Compact(room), func(p uint16) bool {
		return slices.Contains(e.RemoveRoom, p)
	})
	if len(room) == 0 {
		return nil
	}
	return room
}

func (m *Manifest) editTables(e *Edit) error {
	for table, ids := range e.RemoveRuns {
		runs := slices.Clone(m.Tables[table])
		for _, id := range ids {
			i := slices.IndexFunc(runs, func(r Run) bool { return r.ID == id })
			if i < 0 {
				return fmt.Errorf("removes run %s that %s does not have", id, table)
			}
			runs = slices.Delete(runs, i, i+1)
		}
		m.Tables[table] = runs
	}
	for table, run := range e.AddRuns {
		runs := m.Tables[table]
		at, _ := slices.BinarySearchFunc(runs, run.Seq, func(r Run, seq uint64) int {
			if r.Seq <= seq {
				return -1
			}
			return 1
		})
		m.Tables[table] = slices.Insert(slices.Clone(runs), at, run)
	}
	return nil
}

func (m *Manifest) editFrontier(e *Edit) error {
	frontier := make([]QueueRun, 0, len(m.Frontier)+len(e.AddFrontier))
	gone := 0
	for _, r := range m.Frontier {
		if slices.Contains(e.RemoveFrontier, r.Kind+"/"+r.ID) {
			gone++
			continue
		}
		r.Objects = slices.Clone(r.Objects)
		for i := range r.Objects {
			if c, ok := e.Cursors[r.Objects[i].Key]; ok {
				r.Objects[i].Cursor = c
			}
		}
		frontier = append(frontier, r)
	}
	if gone != len(e.RemoveFrontier) {
		return fmt.Errorf("removes frontier runs that are not there: %v", e.RemoveFrontier)
	}
	m.Frontier = append(frontier, e.AddFrontier...)
	return nil
}

func (m *Manifest) replaceParts(parts []Part) error {
	if len(parts) == 0 {
		return nil
	}
	m.Parts = slices.Clone(m.Parts)
	for _, part := range parts {
		i := slices.IndexFunc(m.Parts, func(p Part) bool { return p.Oldest() == part.Oldest() })
		j := slices.IndexFunc(m.Parts, func(p Part) bool { return p.Round == part.Round })
		if i < 0 || j < i {
			return fmt.Errorf("replaces the parts of jobs %d to %d, which are not there", part.Oldest(),
				part.Round)
		}
		m.Parts = slices.Replace(m.Parts, i, j+1, part)
	}
	return nil
}

// Encode writes a commit as it is stored.
func (c *Commit) Encode() ([]byte, error) { return json.MarshalIndent(c, "", " ") }

// DecodeCommit reads a stored commit; a damaged or newer one is an error.
func DecodeCommit(b []byte) (*Commit, error) {
	var c Commit
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("damaged commit: %w", err)
	}
	if c.Format > Format {
		return nil, fmt.Errorf("commit of format %d; this build reads up to %d: use a newer seine",
			c.Format, Format)
	}
	if c.Format < 1 {
		return nil, fmt.Errorf("damaged commit: format %d", c.Format)
	}
	return &c, nil
}
