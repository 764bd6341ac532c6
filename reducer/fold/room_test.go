package fold_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
	"seine/reducer/requeue"
	"seine/reducer/task"
	"seine/reducer/twin"
)

// group is the key in domains of a URL.
func (s *slow) group(key lsm.Key) lsm.Key {
	if key.URL = ""; !s.set.GroupByHost {
		key.Host = ""
	}
	return key
}

// outstanding counts a group's URLs again: those that wait for their first turn,
// and those kept back.
func (s *slow) outstanding(group lsm.Key) (waits, held int64) {
	for key, row := range s.URLs {
		switch {
		case s.group(key) != group || row.CrawlStatus != schema.Pending:
		case row.Reason == schema.DomainFull:
			held++
		default:
			waits++
		}
	}
	return waits, held
}

// keepBack takes a URL that nobody knew out of the frontier again if its group was
// full in the snapshot, or is with what the round gained before it.
func (s *slow) keepBack(row *schema.URL, gained map[lsm.Key]int64) {
	group := s.group(lsm.URLs().Key(row))
	before := s.Domains[group]
	waits, most := before.Pending-before.Held+gained[group], int64(s.set.MaxOutstanding)
	if waits < most && (before.Held == 0 || waits <= most/2) {
		gained[group]++
		return
	}
	row.Reason, row.NextCrawl, row.Why, row.Queued, row.QueuedRank = schema.DomainFull, 0, "", 0, 0
}

// rooms are the partitions where a group that this round changed has room.
func (s *slow) rooms() (partitions []uint16) {
	for group, row := range s.Domains {
		waits, held := s.outstanding(group)
		if row.Round == int64(s.spec.Job) && held > 0 && waits <= int64(s.set.MaxOutstanding)/2 {
			partitions = append(partitions, group.Partition)
		}
	}
	slices.Sort(partitions)
	return slices.Compact(partitions)
}

// bringBack does what the requeue job of rooms does.
func (s *slow) bringBack() {
	for group, row := range s.Domains {
		waits, held := s.outstanding(group)
		most := int64(s.set.MaxOutstanding)
		if held == 0 || waits > most/2 || !slices.Contains(s.spec.Requeue.Room, group.Partition) {
			continue
		}
		var kept []schema.URL
		for key, url := range s.URLs {
			if s.group(key) == group && url.Reason == schema.DomainFull {
				kept = append(kept, url)
			}
		}
		slices.SortFunc(kept, func(a, b schema.URL) int {
			return cmp.Or(cmp.Compare(task.Rank(b.Priority, b.DiscoveredAt),
				task.Rank(a.Priority, a.DiscoveredAt)), lsm.URLs().Key(&a).Compare(lsm.URLs().Key(&b)))
		})
		for _, url := range kept[:min(held, most-waits)] {
			url.Reason, url.NextCrawl, url.Why = "", s.spec.Now, schema.WhyNew
			url.Queued, url.Round = int64(s.spec.Job), int64(s.spec.Job)
			url.QueuedRank = task.Rank(url.Priority, s.spec.Now)
			s.URLs[lsm.URLs().Key(&url)] = url
			row.Held--
		}
		row.Round = int64(s.spec.Job)
		s.Domains[group] = row
	}
}

// roomJob runs the requeue job that is due when there is room somewhere.
func (c *crawl) roomJob() jobs.Spec {
	c.t.Helper()
	spec := c.spec(jobs.KindRequeue)
	spec.Now += 1000
	spec.Requeue = &jobs.Requeue{Room: c.head.Room}
	ends := c.stage(spec, jobs.StageRequeue, nil, requeue.Run)
	c.publish(spec, map[jobs.Stage][]jobs.Result{jobs.StageRequeue: ends})
	return spec
}

// compareRoom runs that job, if it is due, and its twin.
func compareRoom(c *crawl) {
	c.t.Helper()
	if len(c.head.Room) == 0 {
		return
	}
	before := c.tables()
	s := &slow{tables: before, set: c.set, spec: c.roomJob()}
	s.bringBack()
	after := c.tables()
	if diff := gocmp.Diff(s.tables, after); diff != "" {
		c.t.Errorf("tables after room was made (-twin +product):\n%s", diff)
	}
	if len(c.head.Room) > 0 {
		c.t.Errorf("there is still room in %v", c.head.Room)
	}
	c.live(after.URLs)
	unnamed(c, lsm.URLs())
	unnamed(c, lsm.Domains())
}

// A domain of 40 pages with room for 6 is crawled whole: never more than 6 of
// its URLs are outstanding, and what is kept back comes back when 3 are.
func TestDomainFull(t *testing.T) {
	full(newCrawl(t, settings.Settings{Scope: "any", MaxOutstanding: 6}, 1))
}

// So it is where a sheet says it of that domain alone.
func TestDomainFullBySheet(t *testing.T) {
	c := newCrawl(t, settings.Settings{Scope: "any"}, 1)
	c.set.MaxOutstanding = 6 // the twin's
	var err error
	c.env, err = twin.WithSheets(c.ctx, c.env, "for,max_outstanding\nbig.test,6\nother.test,900\n")
	c.must(err)
	full(c)
}

func full(c *crawl) {
	c.t.Helper()
	t := c.t
	c.topN = 4
	c.inject("http://big.test/")
	const pages = 40
	w := func(spec jobs.Spec, list []schema.List) met {
		var m met
		for i := range list {
			f := answered(spec, &list[i], schema.OK, 200, int64(1000*(i+1)))
			f.Change = schema.ChangeNew
			m.fetches, m.pages = append(m.fetches, f), append(m.pages, pageOf(&f, f.Change, uint64(i+1)))
			for n := range pages {
				if url := fmt.Sprintf("http://big.test/%d", n); url != list[i].URL {
					m.discover(linkTo(&list[i], url, "a", 1))
				}
			}
		}
		return m
	}
	key := lsm.Key{Partition: urlKey("http://big.test/").Partition, Domain: "big.test"}
	returns, rounds := 0, 0
	for range 3 * pages {
		c.now += hourMS
		compareRound(c, w)
		row := c.tables().Domains[key]
		waits := row.Pending - row.Held
		if waits > 6 {
			t.Errorf("%d URLs are outstanding after job %d, at most 6 may be", waits, c.job)
		}
		if row.Held > 0 && (waits <= 3) != (len(c.head.Room) == 1) {
			t.Errorf("%d are outstanding, %d kept back; room is in %v", waits, row.Held, c.head.Room)
		}
		if row.Held > 0 && waits > 3 {
			rounds++
		}
		if len(c.head.Room) > 0 {
			returns++
		}
		compareRoom(c)
		if t.Failed() || row.Pending == 0 {
			break
		}
	}
	row := c.tables().Domains[key]
	if row.Pages != pages+1 || row.Pending != 0 || row.Held != 0 {
		t.Errorf("the domain ended as %+v, want %d pages and nothing pending", row, pages+1)
	}
	if returns < 6 || rounds == 0 {
		t.Errorf("URLs came back %d times, in %d rounds the domain was full: the test shows little",
			returns, rounds)
	}
}
