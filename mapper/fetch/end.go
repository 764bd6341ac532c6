package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"seine/formats/layout"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/tasklog"
	"seine/formats/weburl"
	"seine/jobs"
)

// discoveryKey is what one row of discoveries stands for.
type discoveryKey struct {
	url, source string
}

// merge joins a discovery with what is there of the same target and source
// domain. It is commutative and associative, so chunks and attempts may cut the
// links anywhere.
func merge(all map[discoveryKey]*schema.Discovery, d schema.Discovery) {
	key := discoveryKey{d.URL, d.SrcDomain}
	if old := all[key]; old != nil {
		*old = join(*old, d)
		return
	}
	first := d
	first.Partition = int32(weburl.Partition(d.Domain))
	all[key] = &first
}

func join(a, b schema.Discovery) schema.Discovery {
	a.Kind = min(a.Kind, b.Kind)
	a.Depth = min(a.Depth, b.Depth)
	a.Priority = max(a.Priority, b.Priority)
	a.Suspicion = min(a.Suspicion, b.Suspicion)
	a.First = a.First || b.First
	if a.Seed == "" || b.Seed != "" && b.Seed < a.Seed {
		a.Seed = b.Seed
	}
	return a
}

func compareDiscovery(a, b *schema.Discovery) int {
	return cmp.Or(cmp.Compare(a.Partition, b.Partition),
		compareKey(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL),
		strings.Compare(a.SrcDomain, b.SrcDomain))
}

func sortedDiscoveries(all map[discoveryKey]*schema.Discovery) []schema.Discovery {
	rows := make([]schema.Discovery, 0, len(all))
	for _, d := range all {
		rows = append(rows, *d)
	}
	slices.SortFunc(rows, func(a, b schema.Discovery) int { return compareDiscovery(&a, &b) })
	return rows
}

// mergeTimeout bounds one try at reading a task's discoveries back: gigabytes at
// most.
const mergeTimeout = time.Hour

// end merges the discoveries of all chunks into one object by target, names the
// rows that wait again, and closes the log.
func (f *fetcher) end(ctx context.Context) (jobs.Result, error) {
	state := f.log.State()
	c := &chunk{}
	defer c.close()
	left := f.leftRows()
	err := persist(ctx, f.progress, "merge the discoveries", mergeTimeout,
		func(ctx context.Context) error {
			return f.writeEvents(ctx, c, state.Chunks)
		})
	if err == nil {
		err = writeRows(f, c, tasklog.Fetches, left, false)
	}
	if err != nil {
		return jobs.Result{}, err
	}
	end := tasklog.End{Counts: map[string]int64{"listed": int64(len(f.rows))}}
	for _, s := range state.Chunks {
		for name, n := range s.Counts {
			end.Counts[name] += n
		}
	}
	for _, r := range left {
		end.Counts[kindPage+" "+r.Reason]++
	}
	for _, o := range c.files {
		if err := f.put(ctx, o); err != nil {
			return jobs.Result{}, err
		}
		end.Objects = append(end.Objects, o.object)
	}
	err = f.persist(ctx, "end the log", func(ctx context.Context) error {
		return f.log.End(ctx, end)
	})
	if err != nil {
		return jobs.Result{}, err
	}
	key := layout.Log(f.task.Spec.Job, f.task.Index, f.log.State().Next-1)
	return jobs.Result{End: key, Counts: end.Counts}, nil
}

// writeEvents merges the chunks' discoveries: one row a target and source
// domain, sorted by target.
func (f *fetcher) writeEvents(ctx context.Context, c *chunk, chunks []tasklog.Chunk) error {
	var cursors []*rowfile.Cursor[schema.Discovery]
	for _, s := range chunks {
		for _, o := range s.Objects {
			if o.Kind != tasklog.Discoveries {
				continue
			}
			src, err := f.env.Open(ctx, o.Key, o.Size)
			if err == nil {
				src, err = f.env.Staging.Stage(src, o.Size, 1)
			}
			if err != nil {
				return fmt.Errorf("open %s: %w", o.Key, err)
			}
			if closer, ok := src.(io.Closer); ok {
				defer closer.Close()
			}
			file, err := rowfile.Open[schema.Discovery](src, o.Size, rowfile.ReadOptions{})
			if err != nil {
				return fmt.Errorf("read %s: %w", o.Key, err)
			}
			cursors = append(cursors, file.Scan(0, file.NumRows()))
		}
	}
	if len(cursors) == 0 {
		return nil
	}
	out, err := newOutput(f.env.Scratch, f.key("events.parquet"))
	if err != nil {
		return err
	}
	rows, err := f.mergeEvents(out, cursors)
	if err != nil {
		return errors.Join(err, out.file.Close())
	}
	return out.finish(c, tasklog.Events, rows)
}

func (f *fetcher) mergeEvents(out io.Writer,
	cursors []*rowfile.Cursor[schema.Discovery]) (int64, error) {
	w := rowfile.NewWriter[schema.Discovery](out, rowfile.Options{Codec: f.env.Codec,
		Partitioned: true})
	var held *schema.Discovery
	var rows int64
	flush := func() error {
		if held == nil {
			return nil
		}
		rows++
		return w.Write(*held)
	}
	err := rowfile.Merge(cursors, compareDiscovery, func(row *schema.Discovery, _ int) error {
		if held != nil && compareDiscovery(held, row) == 0 {
			*held = join(*held, *row)
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		copied := *row
		held = &copied
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		w.Abort()
		return 0, fmt.Errorf("merge events: %w", err)
	}
	return rows, w.Finish()
}
