package prune

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// Names of the counts of a task.
const (
	CountTables    = "tables_dropped"     // objects of lists, fetches, dead_letters, links
	CountVersions  = "versions_dropped"   // rows of pages
	CountArchives  = "archives_dropped"   // WARC objects
	CountRewritten = "archives_rewritten" // WARC objects whose live records moved
	CountBytes     = "bytes_freed"        // once no kept snapshot names them
	CountJoined    = "parts_joined"       // what so many jobs left is in one place
	CountMoved     = "bodies_moved"       // rows of urls that point to a new archive
)

// Run does the prune task and puts its end, a *taskend.Reduce. A task whose end
// is there already is not done again.
func Run(ctx context.Context, e task.Env, t jobs.Task) (jobs.Result, error) {
	if t.Spec.Prune == nil || len(t.Spec.Ranges) != 1 {
		return jobs.Result{}, fmt.Errorf("task %s: the spec prunes nothing, or not in one task", t.ID())
	}
	return task.Do(ctx, e, t, run)
}

func run(ctx context.Context, e task.Env, t jobs.Task) (*taskend.Reduce, error) {
	m, err := e.Snapshot(ctx, t.Spec.Base)
	if err != nil {
		return nil, err
	}
	p := newPruning(e, t, m)
	defer p.close()
	return p.end, p.all(ctx)
}

// Plan counts what a prune job of a snapshot would do, and writes nothing.
func Plan(ctx context.Context, e task.Env, m *lsm.Manifest, what jobs.Prune) (map[string]int64, error) {
	p := newPruning(e, jobs.Task{Spec: jobs.Spec{Prune: &what}}, m)
	p.dry = true
	defer p.close()
	if err := p.all(ctx); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return p.end.Counts, nil
}

// pruning is a prune task at work.
type pruning struct {
	env   task.Env
	task  jobs.Task
	what  jobs.Prune
	m     *lsm.Manifest
	dry   bool
	dead  *task.Sorter[deadRow]
	moved *task.Sorter[move]
	end   *taskend.Reduce
}

func newPruning(e task.Env, t jobs.Task, m *lsm.Manifest) *pruning {
	bound := e.Memory() / 4
	return &pruning{env: e, task: t, what: *t.Spec.Prune, m: m,
		dead:  task.NewSorter(e, "dead", bound, func(*deadRow) int { return 32 }, compareDead),
		moved: task.NewSorter(e, "moved", bound, (*move).bytes, compareMoves),
		end: &taskend.Reduce{Format: taskend.Format, Range: t.Range,
			Tables: map[string]lsm.Object{}, Counts: map[string]int64{}}}
}

func (p *pruning) close() {
	p.dead.Close()
	p.moved.Close()
}

func (p *pruning) all(ctx context.Context) error {
	if err := p.versions(ctx); err != nil {
		return fmt.Errorf("versions of pages: %w", err)
	}
	dead, err := newDeadRows(p.dead)
	if err != nil {
		return err
	}
	joined := lsm.PickParts(p.m)
	for i := 0; i < len(p.m.Parts); i++ {
		job := p.m.Parts[i].Round
		if len(joined) > 0 && joined[0][0] == i {
			err = p.join(ctx, i, joined[0][1], dead)
			i, joined = joined[0][1]-1, joined[1:]
		} else {
			err = p.part(ctx, i, dead)
		}
		if err != nil {
			return fmt.Errorf("part of job %d: %w", job, err)
		}
	}
	if p.dry {
		return nil
	}
	if err := p.follow(ctx); err != nil {
		return fmt.Errorf("places of bodies in urls: %w", err)
	}
	return nil
}

// aged are the tables of which a part keeps nothing after a time.
func (p *pruning) aged(part *lsm.Part) (tables []string) {
	if part.Now < p.what.Fetches {
		tables = append(tables, schema.Lists, schema.Fetches, schema.DeadLetters)
	}
	if part.Now < p.what.Links {
		tables = append(tables, schema.Links)
	}
	return tables
}

// part prunes one part.
func (p *pruning) part(ctx context.Context, i int, dead *deadRows) error {
	old := &p.m.Parts[i]
	next := *old
	next.Tables = maps.Clone(old.Tables)
	changed := false
	for _, table := range p.aged(old) {
		for _, o := range next.Tables[table] {
			p.end.Counts[CountTables]++
			p.end.Counts[CountBytes] += o.Bytes
			changed = true
		}
		delete(next.Tables, table)
	}
	pages, err := p.pages(i, dead)
	if err != nil {
		return err
	}
	fates := map[string]fate{}
	if len(next.Tables[schema.Fetches]) == 0 {
		if fates, err = p.archives(ctx, old.WARC, pages, false); err != nil {
			return err
		}
	}
	rewritten, err := p.rewrite(ctx, &next, pages, fates)
	if err != nil {
		return err
	}
	next.WARC = slices.DeleteFunc(slices.Clone(next.WARC), func(w lsm.WARCFile) bool {
		return fates[w.Key] != stays
	})
	if changed || rewritten || len(next.WARC) != len(old.WARC) {
		next.Pruned = true
		p.end.Parts = append(p.end.Parts, next)
	}
	return nil
}
