package generate

import (
	"context"
	"fmt"

	"seine/formats/lsm"
	"seine/formats/robotstxt"
	"seine/formats/schema"
	"seine/formats/weburl"
	"seine/reducer/task"
)

// ruleBook is the robots.txt of the authorities that a task has met, as far as
// they are known and valid at the round's now: what they forbid takes no place in
// the round. Where none is known, none is valid or none could be had, fetch asks
// for it and decides.
//
// Parsed files are kept up to a bound of memory and read again beyond it.
type ruleBook struct {
	reader *lsm.Reader[schema.Robots]
	agent  func(row *schema.FrontierRow) string // the token of its group
	now    int64                                // ms
	bound  int64                                // bytes
	both   bool                                 // twins at the other scheme do not matter

	rules  map[lsm.Key]robotstxt.Rules // Unknown: fetch decides
	served map[lsm.Key]bool            // authorities that answered, with rules or without
	bytes  int64
}

// fileOverhead is about what an authority takes besides its rules, bytes; and
// ruleFactor what its rules take for each byte of the file.
const (
	fileOverhead = 256
	ruleFactor   = 4
)

// learn looks up the authorities of the rows that are not known yet.
func (b *ruleBook) learn(ctx context.Context, rows []*schema.FrontierRow) error {
	if b.bytes > b.bound {
		b.rules, b.served, b.bytes = map[lsm.Key]robotstxt.Rules{}, map[lsm.Key]bool{}, 0
	}
	var keys []lsm.Key
	agents := map[lsm.Key]string{}
	for _, row := range rows {
		key, _ := authorityOf(row)
		if _, known := b.rules[key]; known {
			continue
		}
		keys, agents[key] = append(keys, key), b.agent(row)
		if twin := weburl.SchemeTwin(key.URL); twin != "" && !b.both {
			agent := agents[key]
			key.URL = twin
			keys, agents[key] = append(keys, key), agent
		}
	}
	keys = distinct(keys)
	for _, key := range keys {
		b.rules[key] = robotstxt.Rules{}
		b.bytes += fileOverhead + int64(len(key.URL))
	}
	err := b.reader.Lookup(ctx, keys, func(hit lsm.Hit[schema.Robots]) error {
		row := &hit.Row
		outcome := robotstxt.OutcomeOf(row.Status)
		if outcome == robotstxt.Parsed || outcome == robotstxt.AllowAll {
			b.served[keys[hit.Index]] = true
		}
		if outcome != robotstxt.Parsed || row.Expires <= b.now {
			return nil
		}
		b.rules[keys[hit.Index]] = robotstxt.RulesOf(outcome, []byte(row.Text), agents[keys[hit.Index]])
		b.bytes += ruleFactor * int64(len(row.Text))
		return nil
	})
	if err != nil {
		return fmt.Errorf("look up robots: %w", err)
	}
	return nil
}

// forbids gives the rule that forbids a row's URL, "" where none does.
func (b *ruleBook) forbids(row *schema.FrontierRow) string {
	key, path := authorityOf(row)
	rules := b.rules[key]
	if rules.Outcome == robotstxt.Unknown {
		return ""
	}
	decision := rules.Decide(path)
	if decision.Allowed {
		return ""
	}
	return decision.Cite(key.URL)
}

// authorityOf is the key in robots of a row's authority, and the path that its
// rules speak of.
func authorityOf(row *schema.FrontierRow) (key lsm.Key, path string) {
	authority, path := weburl.CutAuthority(row.URL)
	return lsm.Key{Partition: uint16(row.Partition), Domain: row.Domain, URL: authority}, path
}

// agent is the token by which robots.txt of a row's group names us.
func (g *generation) agent(row *schema.FrontierRow) string {
	v := g.sheets.Of(g.settings.GroupByHost, row.Domain, row.Host)
	return v.Named(g.settings.Agent)
}

// robots looks up what decides over the rows of a batch that are live.
func (g *generation) robots(ctx context.Context, batch []chunk,
	known map[lsm.Key]*schema.URL) error {
	var rows []*schema.FrontierRow
	for _, c := range batch {
		for i := range c.rows {
			row := &c.rows[i].row
			if live(row, known[task.FrontierKey(row)]) && g.takes(row) {
				rows = append(rows, row)
			}
		}
	}
	return g.rules.learn(ctx, rows)
}
