package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/jobs"
)

const restoreLong = `Makes snapshot N the newest again: a new snapshot with the tables of N. What came after
N stays to be read by --snapshot until retention takes it. Of the newest snapshot stay
robots.txt, and what manners need: when each site was last asked, its back-off and its
delay. A round that follows begins where N stood.`

func newSnapshot(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "snapshot", Short: "List, compare and restore snapshots",
		Long:    "Every job that ends leaves a snapshot: the tables whole, as they were after it.",
		Example: "  seine snapshot list\n  seine snapshot diff 3 7\n  seine snapshot restore 7",
	}
	var limit int
	list := &cobra.Command{
		Use: "list", Short: "List snapshots, the newest first", Example: "  seine snapshot list --limit 100",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.listSnapshots(c.Context(), limit) },
	}
	list.Flags().IntVar(&limit, "limit", 20, "snapshots at most; 0: all")
	diff := &cobra.Command{
		Use: "diff A [B]", Short: "Compare two snapshots, by table; B is the newest if not named",
		Example: "  seine snapshot diff 3 7", Args: arguments(cobra.RangeArgs(1, 2)),
		RunE: func(c *cobra.Command, args []string) error { return a.diffSnapshots(c.Context(), args) },
	}
	restore := &cobra.Command{
		Use: "restore N", Short: "Make snapshot N the newest again", Long: restoreLong,
		Example: "  seine snapshot restore 7", Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return a.restoreSnapshot(c.Context(), args[0]) },
	}
	c.AddCommand(list, diff, restore)
	return c
}

func snapshotNumber(arg string) (uint64, error) {
	n, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || n == 0 {
		return 0, usagef("%q is no number of a snapshot; `seine snapshot list` shows them", arg)
	}
	return n, nil
}

// snapshotLine is a snapshot as it is listed.
type snapshotLine struct {
	Snapshot uint64 `json:"snapshot"`
	Job      uint64 `json:"job"`
	Kind     string `json:"kind"`
	Now      int64  `json:"now"` // ms, the job's
	Known    int64  `json:"known_delta"`
	Waiting  int64  `json:"waiting_delta"`
	Restores uint64 `json:"restores,omitempty"`
}

// String is the line that a person sees.
func (s snapshotLine) String() string {
	if s.Job == 0 { // a takeover, which is at no time of the crawl's
		return fmt.Sprintf("%6d  %-16s  %s", s.Snapshot, "", s.Kind)
	}
	text := fmt.Sprintf("%6d  %-16s  %-8s", s.Snapshot, clock(s.Now, time.Now()), s.Kind)
	if s.Restores > 0 {
		text += fmt.Sprintf("  of snapshot %d", s.Restores)
	}
	return fmt.Sprintf("%s  job %d, known %+d, waiting %+d", text, s.Job, s.Known, s.Waiting)
}

// listSnapshots walks back from the newest commit.
func (a *app) listSnapshots(ctx context.Context, limit int) error {
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	if limit < 0 {
		return usagef("--limit %d: write a number from 0", limit)
	}
	for n := l.head.N; n > 0 && (limit == 0 || l.head.N-n < uint64(limit)); n-- {
		line, err := l.snapshotLine(ctx, n)
		if errors.Is(err, objstore.ErrNotExist) || errors.Is(err, lsm.ErrExpired) {
			return nil // it and those before were not kept
		}
		if err != nil {
			return err
		}
		if a.json {
			err = a.printJSON(line)
		} else {
			_, err = fmt.Fprintln(a.out, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *looking) snapshotLine(ctx context.Context, n uint64) (snapshotLine, error) {
	key := layout.Commit(n)
	body, err := l.Store.Get(ctx, key)
	if err != nil {
		return snapshotLine{}, fmt.Errorf("%s: %w", key, err)
	}
	c, err := lsm.DecodeCommit(body)
	if err != nil {
		return snapshotLine{}, fmt.Errorf("%s: %w", key, err)
	}
	if c.Expired {
		return snapshotLine{}, lsm.ErrExpired
	}
	line := snapshotLine{Snapshot: n, Job: c.Job, Kind: c.Kind, Now: c.Now, Known: c.Edit.KnownDelta,
		Waiting: c.Edit.WaitingDelta}
	if c.Edit.Takeover {
		line.Kind = "takeover"
	}
	if c.Edit.Restore != nil {
		line.Restores = c.Edit.Restore.N
	}
	return line, nil
}

// tableDiff is what of a table two snapshots do not share.
type tableDiff struct {
	Table        string `json:"table"`
	Objects      int64  `json:"objects_added"`
	ObjectsGone  int64  `json:"objects_gone"`
	Rows         int64  `json:"rows_added"`
	RowsGone     int64  `json:"rows_gone"`
	Bytes        int64  `json:"bytes_added"`
	BytesRemoved int64  `json:"bytes_gone"`
}

func (a *app) diffSnapshots(ctx context.Context, args []string) error {
	var numbers [2]uint64
	for i, arg := range args {
		n, err := snapshotNumber(arg)
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	var pair [2]*lsm.Manifest
	for i, n := range numbers {
		if n > l.head.N {
			return absentf("there is no snapshot %d; the newest is %d", n, l.head.N)
		}
		if pair[i], err = l.Snapshot(ctx, n); err != nil {
			return err
		}
	}
	diffs := diffManifests(pair[0], pair[1])
	if a.json {
		return a.printJSON(map[string]any{"from": pair[0].N, "to": pair[1].N, "tables": diffs,
			"known": pair[1].Known - pair[0].Known, "waiting": pair[1].Waiting - pair[0].Waiting})
	}
	fmt.Fprintf(a.out, "snapshot %d to %d: known %+d, waiting %+d\n", pair[0].N, pair[1].N,
		pair[1].Known-pair[0].Known, pair[1].Waiting-pair[0].Waiting)
	for _, d := range diffs {
		fmt.Fprintf(a.out, "  %-14s +%d objects, %d rows, %s; -%d objects, %d rows, %s\n", d.Table, d.Objects,
			d.Rows, ui.Bytes(d.Bytes), d.ObjectsGone, d.RowsGone, ui.Bytes(d.BytesRemoved))
	}
	return nil
}

func diffManifests(from, to *lsm.Manifest) []tableDiff {
	before, after := filesOf(from), filesOf(to)
	tables := map[string]*tableDiff{}
	of := func(table string) *tableDiff {
		if tables[table] == nil {
			tables[table] = &tableDiff{Table: table}
		}
		return tables[table]
	}
	for key, p := range after {
		if _, ok := before[key]; !ok {
			d := of(p.Table)
			d.Objects, d.Rows, d.Bytes = d.Objects+1, d.Rows+p.Rows, d.Bytes+p.Bytes
		}
	}
	for key, p := range before {
		if _, ok := after[key]; !ok {
			d := of(p.Table)
			d.ObjectsGone, d.RowsGone, d.BytesRemoved = d.ObjectsGone+1, d.RowsGone+p.Rows, d.BytesRemoved+p.Bytes
		}
	}
	diffs := []tableDiff{}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		diffs = append(diffs, *tables[table])
	}
	return diffs
}

func filesOf(m *lsm.Manifest) map[layout.Key]lsm.File {
	files := map[layout.Key]lsm.File{}
	for f := range m.Files() {
		files[f.Key] = f
	}
	return files
}

func (a *app) restoreSnapshot(ctx context.Context, arg string) error {
	n, err := snapshotNumber(arg)
	if err != nil {
		return err
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	if n >= l.head.N {
		return absentf("snapshot %d is not before the newest, %d: there is nothing to restore", n, l.head.N)
	}
	return a.submitting(ctx, l.Crawl, func(ctx context.Context, conn api.Conn) error {
		job, err := a.runJob(ctx, conn, state.Submission{RequestID: requestID("restore"), Kind: jobs.KindRestore,
			Restore: &jobs.Restore{Snapshot: n}})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"job": job.Job, "commit": job.Commit, "restored": n})
		}
		_, err = fmt.Fprintf(a.out, "snapshot %d is snapshot %d again\n", job.Commit, n)
		return err
	})
}
