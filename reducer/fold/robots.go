package fold

import (
	"context"
	"slices"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/tasklog"
	"seine/formats/weburl"
	"seine/reducer/task"
)

// batchRobots is how many authorities are looked up at once.
const batchRobots = 1024

// robotsUnreachable is the status of a robots row that says nothing of rules.
const robotsUnreachable = "unreachable"

// robotsColumns are what the old row of an authority is needed for.
var robotsColumns = []string{"crawl_delay_ms"}

// robotsPass writes the newest robots.txt of each authority.
type robotsPass struct {
	f     *folding
	out   *task.RunOutput[schema.Robots]
	batch []schema.Robots
	bytes int
}

func (f *folding) robots(ctx context.Context) error {
	var o opened
	defer o.close()
	sequences, drop, err := ordered(ctx, f.env, &o, f.in.of(tasklog.Robots), sorting[schema.Robots]{
		compare: compareRobots, own: ownRobots, bytes: robotsBytes})
	if err != nil {
		return err
	}
	defer drop()
	out, err := task.CreateRun(f.env, f.task, lsm.RobotsTable())
	if err != nil {
		return err
	}
	defer out.Abort()
	p := &robotsPass{f: f, out: out}
	err = mergeRows(sequences, compareRobots, func(row *schema.Robots) error {
		return p.add(ctx, row)
	})
	if err != nil {
		return err
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	object, err := out.Finish(ctx)
	if object != nil {
		f.end.Tables[schema.RobotsT] = *object
	}
	if err != nil {
		return err
	}
	return f.oldExpires(ctx)
}

// add takes the next row; of one authority the last is the newest.
func (p *robotsPass) add(ctx context.Context, row *schema.Robots) error {
	n := len(p.batch)
	if n > 0 && robotsKey(&p.batch[n-1]) == robotsKey(row) {
		p.batch[n-1] = ownRobots(row)
		return nil
	}
	if n == batchRobots || p.bytes > int(p.f.env.Memory()/16) {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	p.batch = append(p.batch, ownRobots(row))
	p.bytes += robotsBytes(row)
	return nil
}

func (p *robotsPass) flush(ctx context.Context) error {
	keys := make([]lsm.Key, len(p.batch))
	for i := range p.batch {
		keys[i] = robotsKey(&p.batch[i])
	}
	old := make([]int64, len(keys))
	err := lsm.RobotsTable().Lookup(ctx, p.f.env.Open, p.f.manifest.Tables[schema.RobotsT], keys,
		lsm.LookupOptions{Columns: robotsColumns, Stats: p.f.env.Stats},
		func(hit lsm.Hit[schema.Robots]) error {
			old[hit.Index] = hit.Row.CrawlDelay
			return p.out.Supersede(hit.Refs...)
		})
	if err != nil {
		return err
	}
	for i := range p.batch {
		if err := p.write(&p.batch[i], old[i]); err != nil {
			return err
		}
	}
	p.batch, p.bytes = p.batch[:0], 0
	return nil
}

func (p *robotsPass) write(row *schema.Robots, oldDelay int64) error {
	row.Round = p.f.job
	if err := p.out.Write(row); err != nil {
		return err
	}
	key := robotsKey(row)
	if _, ok := p.f.expires[key]; ok {
		p.f.expires[key] = row.Expires
	}
	if row.Status == robotsUnreachable {
		return nil // it says nothing of the delay: the one before stands
	}
	group := lsm.Key{Partition: key.Partition, Domain: key.Domain}
	if p.f.settings.GroupByHost {
		normal, err := weburl.Normalize(row.Authority+"/", weburl.Options{})
		if err != nil {
			return err
		}
		group.Host = normal.Host
	}
	return p.f.facts.Add(groupFact(group, fact{What: factRobots, CrawlDelay: row.CrawlDelay,
		WasDelay: oldDelay}))
}

// groupFact is a fact about a group; it sorts before those of the group's URLs.
func groupFact(group lsm.Key, f fact) fact {
	f.Partition, f.Domain = int32(group.Partition), strings.Clone(group.Domain)
	f.Host = strings.Clone(group.Host)
	return f
}

// oldExpires looks up the authorities that were out of reach and not asked for
// again in this round.
func (f *folding) oldExpires(ctx context.Context) error {
	var keys []lsm.Key
	for key, expires := range f.expires {
		if expires == 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, lsm.Key.Compare)
	return lsm.RobotsTable().Lookup(ctx, f.env.Open, f.manifest.Tables[schema.RobotsT], keys,
		lsm.LookupOptions{Columns: []string{"expires"}, Stats: f.env.Stats},
		func(hit lsm.Hit[schema.Robots]) error {
			f.expires[keys[hit.Index]] = hit.Row.Expires
			return nil
		})
}
