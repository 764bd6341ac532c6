package fold

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
)

// tally is what the round changes in the row of a politeness group.
type tally struct {
	key                           lsm.Key
	known, pending, pages, failed int64
	held, nearDup                 int64
	lastAccessed, backoff, slot   int64 // ms since 1970; 0: none
	success                       bool  // resets what is counted in a row
	backoffs, errors              int32 // since the last success
	robots                        bool  // some authority's rules were read
	crawlDelay, wasDelay          int64 // of these: the largest now and before, ms
	askedDay, asked               int64 // as in the row
}

// ask counts n pages asked for on a day; of several days the last counts.
func (t *tally) ask(day, n int64) {
	if day > t.askedDay {
		t.askedDay, t.asked = day, 0
	}
	if day == t.askedDay {
		t.asked += n
	}
}

// touched says whether the group's row changes at all.
func (t *tally) touched() bool { return *t != tally{key: t.key} }

// hostTally is what the round changes in the row of a host.
type hostTally struct {
	key                           lsm.Key
	fetches, pages, failed, bytes int64
	lastAccessed                  int64
	samples                       []sample // in time, when complete
}

// sample is a time to first byte.
type sample struct {
	at int64 // ms since 1970
	ms int32
}

// group is the politeness group at hand. Its facts come by URL, not by time.
type group struct {
	tally     tally
	most      int64 // URLs that may be outstanding
	admitted  int64 // URLs that the round added to its frontier
	successAt int64
	backoffs  []int64 // when
	failures  []int64
	hashes    map[uint64]struct{} // of the texts of new pages
	similar   []uint64            // simhashes of the first of these
}

// host is the host at hand.
type host struct{ tally hostTally }

const (
	// nearBits is the largest distance of the simhashes of near-duplicates.
	nearBits = 3
	// nearMost bounds how many earlier pages a new one is compared with.
	nearMost = 1024
)

// enter makes the group and host of a key those at hand. Keys ascend, so those
// before are complete.
func (f *folding) enter(ctx context.Context, key lsm.Key) error {
	if group := f.groupKey(key); f.groups == nil || f.groups.tally.key != group {
		if err := f.leaveGroup(ctx); err != nil {
			return err
		}
		group.Domain, group.Host = strings.Clone(group.Domain), strings.Clone(group.Host)
		f.groups = newGroup(group)
		v := f.ofGroup(group)
		f.groups.most = v.Room(f.settings)
	}
	if key.URL == "" { // a fact of the group
		return nil
	}
	key.URL = ""
	if f.hosts == nil || f.hosts.tally.key != key {
		f.leaveHost()
		key.Domain, key.Host = strings.Clone(key.Domain), strings.Clone(key.Host)
		f.hosts = &host{hostTally{key: key}}
	}
	return nil
}

func newGroup(key lsm.Key) *group {
	return &group{tally: tally{key: key}, hashes: map[uint64]struct{}{}}
}

func (f *folding) leaveGroup(ctx context.Context) error {
	f.leaveHost()
	if f.groups == nil {
		return nil
	}
	g := f.groups
	f.groups = nil
	g.tally.success = g.successAt > 0
	g.tally.backoffs = after(g.backoffs, g.successAt)
	g.tally.errors = after(g.failures, g.successAt)
	if g.tally.touched() {
		f.tallies.groups = append(f.tallies.groups, g.tally)
	}
	if f.tallies.full() {
		return f.settleTallies(ctx)
	}
	return nil
}

func after(times []int64, t int64) (n int32) {
	for _, at := range times {
		if at > t {
			n++
		}
	}
	return n
}

func (f *folding) leaveHost() {
	if f.hosts == nil {
		return
	}
	t := f.hosts.tally
	f.hosts = nil
	if t.fetches == 0 && t.pages == 0 && t.failed == 0 {
		return
	}
	slices.SortFunc(t.samples, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ms, b.ms))
	})
	f.tallies.hosts = append(f.tallies.hosts, t)
	f.tallies.samples += len(t.samples)
}

// note takes a fact into the tallies at hand.
func (f *folding) note(fact *fact) {
	t := &f.groups.tally
	switch fact.What {
	case factSlot:
		t.slot = max(t.slot, fact.NextSlot)
	case factRobots:
		t.robots = true
		t.crawlDelay = max(t.crawlDelay, fact.CrawlDelay)
		t.wasDelay = max(t.wasDelay, fact.WasDelay)
	case factPage:
		f.hosts.tally.pages++
		if fact.Change == schema.ChangeNew && f.groups.nearDuplicate(fact) {
			t.nearDup++
		}
	case factRow:
		f.groups.exchange(fact)
		f.hosts.exchange(fact)
	}
}

// exchange takes an exchange of the group's, or a decision not to have one.
func (g *group) exchange(fact *fact) {
	t := &g.tally
	if fact.Reason != schema.Blocked {
		t.backoff = max(t.backoff, fact.RetryAt)
	}
	if fact.Sent {
		t.lastAccessed = max(t.lastAccessed, fact.EndedAt)
	}
	if fact.Sent && fact.Kind == kindPage {
		t.ask(task.Day(fact.StartedAt), 1)
	}
	policy, ok := schema.PolicyOf(fact.Reason)
	switch {
	case fact.HTTPStatus == 429 || fact.HTTPStatus == 503:
		g.backoffs = append(g.backoffs, fact.StartedAt)
	case fact.HTTPStatus > 0 && fact.HTTPStatus < 500 && !(ok && policy.Group):
		g.successAt = max(g.successAt, fact.StartedAt)
	}
	if ok && policy.Group && fact.Asked {
		g.failures = append(g.failures, fact.StartedAt)
	}
}

// exchange takes an exchange with the host.
func (h *host) exchange(fact *fact) {
	t := &h.tally
	t.bytes += fact.Bytes
	if fact.Sent {
		t.fetches++
		t.lastAccessed = max(t.lastAccessed, fact.EndedAt)
	}
	if policy, ok := schema.PolicyOf(fact.Reason); ok && fact.Asked && (policy.Group || policy.Blame) {
		t.failed++
	}
	if fact.HTTPStatus != 0 {
		t.samples = append(t.samples, sample{fact.StartedAt, fact.TTFB})
	}
}

// nearDuplicate says whether a new page's text is that of an earlier new page of
// the group in this round, or nearly so.
func (g *group) nearDuplicate(page *fact) bool {
	if page.ContentHash == 0 {
		return false // no text
	}
	_, same := g.hashes[page.ContentHash]
	g.hashes[page.ContentHash] = struct{}{}
	for _, s := range g.similar {
		if same {
			break
		}
		same = bits.OnesCount64(s^page.SimHash) <= nearBits
	}
	if !same && len(g.similar) < nearMost {
		g.similar = append(g.similar, page.SimHash)
	}
	return same
}

// tally takes what became of a URL's row into the group's counts of URLs.
func (f *folding) tally(old, row *schema.URL) {
	t := &f.groups.tally
	t.pending += change(old, row, func(r *schema.URL) bool { return r.CrawlStatus == schema.Pending })
	t.failed += change(old, row, func(r *schema.URL) bool { return r.CrawlStatus == schema.Failed })
	t.pages += change(old, row, func(r *schema.URL) bool { return r.BlobPath != "" })
	f.end.Tickets += change(old, row, func(r *schema.URL) bool { return r.Queued != 0 })
}

func change(old, row *schema.URL, has func(*schema.URL) bool) (n int64) {
	if has(row) {
		n++
	}
	if has(old) {
		n--
	}
	return n
}
