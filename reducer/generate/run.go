package generate

import (
	"context"
	"fmt"

	"seine/formats/lsm"
	"seine/formats/robotstxt"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// What ended the popping: the column of the same name of a task's end. The
// strongest of its partitions' is the task's, in this order.
const (
	stopPopped = "popped" // a partition's limit: there is more, for the next round
	stopQuota  = "quota"
	stopEmpty  = "empty" // nothing is left that is due
)

// Run does a generate task and puts its end, a *taskend.Generate. A task whose
// end is there already is not done again.
func Run(ctx context.Context, e task.Env, t jobs.Task) (jobs.Result, error) {
	if t.Spec.Round == nil {
		return jobs.Result{}, fmt.Errorf("task %s: the spec is no round's", t.ID())
	}
	return task.Do(ctx, e, t, run)
}

func run(ctx context.Context, e task.Env, t jobs.Task) (*taskend.Generate, error) {
	g, err := open(ctx, e, t)
	if err != nil {
		return nil, err
	}
	defer g.close()
	if err := g.all(ctx); err != nil {
		return nil, err
	}
	return g.end(ctx)
}

// generation is a generate task at work.
type generation struct {
	env      task.Env
	task     jobs.Task
	round    jobs.Round
	now      int64 // ms, the job's: what manners are reckoned from
	asOf     int64 // ms: what is due
	settings settings.Settings
	manifest *lsm.Manifest
	scope    *scope.Scope
	sheets   *sheet.Table
	blocks   *settings.Blocklist
	quotas   []int64
	limits   []int64

	tables         *tables
	rules          *ruleBook
	waiting, ready []*queue
	due            []map[uint16]bool // of each waiting queue: partitions to look into
	out            *outputs
	stopped        string
	counts         map[string]int64
}

func open(ctx context.Context, e task.Env, t jobs.Task) (*generation, error) {
	g := &generation{env: e, task: t, round: *t.Spec.Round, now: t.Spec.Now, asOf: t.Spec.Now,
		stopped: stopEmpty, counts: map[string]int64{}}
	if g.round.AsOf != 0 {
		g.asOf = g.round.AsOf
	}
	var err error
	if g.settings, err = e.Settings(ctx, t.Spec.Settings); err != nil {
		return nil, fmt.Errorf("settings %d: %w", t.Spec.Settings, err)
	}
	if g.manifest, err = e.Snapshot(ctx, t.Spec.Base); err != nil {
		return nil, err
	}
	g.scope, err = e.Scope(ctx, g.manifest, g.settings, t.Range, g.round.MaxDepth)
	if err != nil {
		return nil, err
	}
	if g.sheets, err = e.Sheets(ctx, g.settings); err != nil {
		return nil, fmt.Errorf("settings %d: %w", t.Spec.Settings, err)
	}
	if g.blocks, err = settings.NewBlocklist(g.settings.Blocks, g.now); err != nil {
		return nil, err
	}
	g.tables = openTables(e, g.manifest, g.settings, g.round.TopN)
	g.rules = &ruleBook{reader: g.tables.robots, agent: g.agent, now: g.now,
		bound: e.Memory() / 16, both: g.settings.BothSchemes,
		rules: map[lsm.Key]robotstxt.Rules{}, served: map[lsm.Key]bool{}}
	g.quotas = Quotas(g.manifest, g.asOf, g.round.TopN, g.round.DueNow)
	g.limits = limits(g.manifest, g.quotas, t.Range)
	if err := g.openQueues(ctx); err != nil {
		g.close()
		return nil, err
	}
	if g.out, err = newOutputs(e, t); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *generation) openQueues(ctx context.Context) (err error) {
	g.ready, err = openQueues(ctx, g.env, g.manifest, schema.Ready, g.task.Range, g.round.TopN)
	if err != nil {
		return err
	}
	g.waiting, err = openQueues(ctx, g.env, g.manifest, schema.Waiting, g.task.Range, 0)
	if err != nil {
		return err
	}
	for _, q := range g.waiting {
		var due map[uint16]bool
		if !g.round.DueNow {
			if due, err = q.due(g.task.Range, g.asOf); err != nil {
				return err
			}
		}
		g.due = append(g.due, due)
	}
	return nil
}

func (g *generation) close() {
	closeQueues(g.waiting)
	closeQueues(g.ready)
	g.tables.close()
	if g.out != nil {
		g.out.abort()
	}
}

// takes says whether a round takes the row now, if it is live. What waits for another
// day is not taken before it, however urgent the rest is.
func (g *generation) takes(row *schema.FrontierRow) bool {
	return row.Due <= g.asOf ||
		g.round.DueNow && row.Ticket <= int64(g.round.DueTicket) && row.Why != schema.WhyDay
}
