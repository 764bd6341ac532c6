package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/formats/tasklog"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/mapper/polite"
)

// readRows reads a whole object of rows; size 0 of object means none.
func readRows[R any](ctx context.Context, e Env, key layout.Key, size int64, columns []string,
	emit func(*R) error) error {
	src, err := e.Open(ctx, key, size)
	if err == nil && columns == nil {
		src, err = e.Staging.Stage(src, size, 1)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", key, err)
	}
	if c, ok := src.(io.Closer); ok {
		defer c.Close()
	}
	f, err := rowfile.Open[R](src, size, rowfile.ReadOptions{Columns: columns})
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	c := f.Scan(0, f.NumRows())
	for {
		row, err := c.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		if err := emit(row); err != nil {
			return err
		}
	}
}

// readList reads what generate chose for the task, in the order in which each
// domain is to be asked.
func readList(ctx context.Context, e Env, t jobs.Task) ([]schema.List, error) {
	ends := t.Inputs[jobs.StageGenerate]
	if t.Index >= len(ends) {
		return nil, fmt.Errorf("task %s: no end of generate among its inputs", t.ID())
	}
	b, err := e.Store.Get(ctx, ends[t.Index])
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	end, err := taskend.DecodeGenerate(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ends[t.Index], err)
	}
	if end.Lists == nil {
		return nil, nil
	}
	rows := make([]schema.List, 0, end.Lists.Rows)
	err = readRows(ctx, e, end.Lists.Key, end.Lists.Bytes, nil, func(r *schema.List) error {
		rows = append(rows, *r)
		return nil
	})
	slices.SortStableFunc(rows, func(a, b schema.List) int {
		if c := strings.Compare(a.Domain, b.Domain); c != 0 {
			return c
		}
		return int(a.Position) - int(b.Position)
	})
	return rows, err
}

// known is what the snapshot says of the list's groups and authorities.
type known struct {
	groups map[string]schema.Domain  // by group
	robots map[string]*schema.Robots // by authority
}

// group is the politeness group of a host in a domain.
func group(byHost bool, domain, host string) string {
	if byHost {
		return host
	}
	return domain
}

// readKnown looks the groups and authorities of the list up in the round's base.
func readKnown(ctx context.Context, e Env, t jobs.Task, byHost bool, rows []schema.List) (known,
	error) {
	k := known{groups: map[string]schema.Domain{}, robots: map[string]*schema.Robots{}}
	base, err := e.Snapshot(ctx, t.Spec.Base)
	if err != nil {
		return k, err
	}
	domains, authorities := keysOf(byHost, rows)
	err = lsm.Domains().Lookup(ctx, e.Open, base.Tables[schema.Domains], domains,
		lsm.LookupOptions{},
		func(h lsm.Hit[schema.Domain]) error {
			k.groups[group(h.Row.Host != "", h.Row.Domain, h.Row.Host)] = h.Row
			return nil
		})
	if err != nil {
		return k, fmt.Errorf("look up domains: %w", err)
	}
	err = lsm.RobotsTable().Lookup(ctx, e.Open, base.Tables[schema.RobotsT], authorities,
		lsm.LookupOptions{}, func(h lsm.Hit[schema.Robots]) error {
			row := h.Row
			k.robots[row.Authority] = &row
			return nil
		})
	if err != nil {
		return k, fmt.Errorf("look up robots: %w", err)
	}
	return k, nil
}

// keysOf are the keys of the list's groups in domains, and of its authorities
// in robots: sorted, without repeats.
func keysOf(byHost bool, rows []schema.List) (domains, authorities []lsm.Key) {
	for i := range rows {
		r := &rows[i]
		d := lsm.Key{Partition: uint16(r.Partition), Domain: r.Domain}
		if byHost {
			d.Host = r.Host
		}
		domains = append(domains, d)
		if u, err := weburl.Normalize(r.URL, weburl.Options{}); err == nil {
			authorities = append(authorities, lsm.Key{Partition: uint16(r.Partition),
				Domain: r.Domain, URL: u.Scheme + "://" + u.Authority})
		}
	}
	return sortedKeys(domains), sortedKeys(authorities)
}

func sortedKeys(keys []lsm.Key) []lsm.Key {
	slices.SortFunc(keys, lsm.Key.Compare)
	return slices.Compact(keys)
}

// stateOf is what manners must remember of a group at the start of a round whose
// settings and robots.txt ask for a delay. Of the delay of the round before only
// a Crawl-delay stands, since settings may have been lowered; but the first
// request keeps the distance that was promised then.
func stateOf(d schema.Domain, delay time.Duration) polite.State {
	s := polite.State{PausedTo: fromMS(d.BackoffUntil),
		Delay: max(delay, time.Duration(d.CrawlDelay)*time.Millisecond)}
	if d.LastAccessed != 0 {
		s.NextSlot = fromMS(d.LastAccessed).Add(max(s.Delay, time.Duration(d.Delay)*time.Millisecond))
	}
	if s.PausedTo.After(s.NextSlot) {
		s.NextSlot = s.PausedTo
	}
	if d.Backoffs > 0 {
		s.Pause = min(time.Minute<<min(d.Backoffs-1, 12), polite.MaxRetryAfter)
	}
	return s
}

// sealed is what the task's log already holds.
type sealed struct {
	ids    map[string]bool // outcomes in the log or the spool
	logged map[string]bool // of these, those in the log
	groups map[string]polite.State
	robots map[string]*schema.Robots
	asked  map[string]int64 // by authority: when a page was last asked for, ms
	bytes  int64
}

// readSealed reads the chunks of earlier attempts as far as this one needs them.
func readSealed(ctx context.Context, e Env, byHost bool, chunks []tasklog.Chunk) (sealed, error) {
	s := sealed{ids: map[string]bool{}, logged: map[string]bool{}, groups: map[string]polite.State{},
		robots: map[string]*schema.Robots{}, asked: map[string]int64{}}
	for _, c := range chunks {
		for _, o := range c.Objects {
			var err error
			switch o.Kind {
			case tasklog.Fetches:
				err = readRows(ctx, e, o.Key, o.Size, nil, func(f *schema.Fetch) error {
					s.add(byHost, f)
					s.logged[fetchID(f)] = true
					return nil
				})
			case tasklog.Robots:
				err = readRows(ctx, e, o.Key, o.Size, nil, func(r *schema.Robots) error {
					row := *r
					s.addRobots(&row)
					return nil
				})
			}
			if err != nil {
				return s, fmt.Errorf("read the sealed chunk %s/%d: %w", c.Attempt, c.Seq, err)
			}
		}
	}
	return s, nil
}

// addRobots keeps the newest robots.txt of each authority: a spool may be older
// than the log.
func (s *sealed) addRobots(r *schema.Robots) {
	if old := s.robots[r.Authority]; old == nil || r.FetchedAt >= old.FetchedAt {
		s.robots[r.Authority] = r
	}
}

func (s *sealed) add(byHost bool, f *schema.Fetch) {
	if f.Kind == kindPage && f.IP != "" {
		name, _ := weburl.CutAuthority(f.URL)
		s.asked[name] = max(s.asked[name], f.StartedAt)
	}
	s.ids[fetchID(f)] = true
	s.bytes += f.Bytes
	g := group(byHost, f.Domain, f.Host)
	state := s.groups[g]
	if retry := fromMS(f.RetryAt); retry.After(state.PausedTo) {
		state.PausedTo = retry
	}
	s.groups[g] = state
}

// fromMS and toMS convert the tables' times; zero is never.
func fromMS(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func toMS(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
