package fold_test

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/task"
	"seine/reducer/twin"
)

// slow does what a reduce stage does, to tables in memory, the plainest way: it
// goes over everything for each question, and counts again where the product
// keeps counts.
type slow struct {
	tables
	spec     jobs.Spec
	set      settings.Settings
	traps    *scope.Scope
	met      met // of all tasks
	lists    map[string]schema.List
	refused  map[string]schema.Fetch
	slots    []schema.Domain
	letters  []schema.DeadLetter
	promoted map[string]bool
}

// newSlow copies the tables and joins what the round's tasks left.
func newSlow(c *crawl, before tables, r *round) *slow {
	s := &slow{tables: before, spec: r.spec, set: c.set, lists: map[string]schema.List{},
		refused: map[string]schema.Fetch{}, promoted: map[string]bool{}}
	var err error
	s.traps, err = scope.New(scope.Config{Scope: scope.Any, Limits: scope.Limits{
		Length: c.set.MaxURLLength, Segments: c.set.MaxSegments, Params: c.set.MaxParams,
		RepeatedRuns: c.set.MaxRepeats, Depth: c.set.MaxDepth}}, nil)
	c.must(err)
	for i, end := range r.generate {
		for _, row := range read[schema.List](c, end.Lists) {
			s.lists[row.URL] = row
		}
		for _, row := range read[schema.Fetch](c, end.Refused) {
			s.refused[row.URL] = row
		}
		s.slots = append(s.slots, read[schema.Domain](c, end.Slots)...)
		m := &r.met[i]
		s.met.fetches = append(s.met.fetches, m.fetches...)
		s.met.pages = append(s.met.pages, m.pages...)
		s.met.robots = append(s.met.robots, m.robots...)
		s.met.left = append(s.met.left, m.left...)
		s.met.discoveries = append(s.met.discoveries, m.discoveries...)
	}
	return s
}

func (s *slow) fold() {
	oldRobots := map[lsm.Key]schema.Robots{}
	for key, row := range s.Robots {
		oldRobots[key] = row
	}
	s.newestRobots()
	var done []lsm.Key
	for _, f := range s.met.fetches {
		if f.Final && f.Kind == "page" {
			s.final(f)
			done = append(done, urlKey(f.URL))
		}
	}
	for _, f := range s.refused {
		s.final(f)
		done = append(done, urlKey(f.URL))
	}
	s.links(done)
	s.hosts()
	s.domains(oldRobots)
}

func (s *slow) newestRobots() {
	newest := map[lsm.Key]schema.Robots{}
	for _, row := range s.met.robots {
		key := lsm.Key{Partition: uint16(row.Partition), Domain: row.Domain, URL: row.Authority}
		if row.FetchedAt >= newest[key].FetchedAt {
			row.Round = int64(s.spec.Job)
			newest[key] = row
		}
	}
	for key, row := range newest {
		s.Robots[key] = row
	}
}

// gains are what all discoveries of a URL come down to.
func (s *slow) gains(url string) (sources int64, depth int32, suspicion, atLeast float32,
	seed string, any bool) {
	first := map[string]bool{}
	for _, d := range s.met.discoveries {
		if d.URL != url {
			continue
		}
		if !any {
			depth, suspicion, seed = d.Depth, d.Suspicion, d.Seed
		}
		any = true
		depth, suspicion = min(depth, d.Depth), min(suspicion, d.Suspicion)
		if d.Seed != "" && (seed == "" || d.Seed < seed) {
			seed = d.Seed
		}
		if d.Kind == "redirect" || d.Kind == "canonical" {
			atLeast = max(atLeast, d.Priority)
		}
		if d.First {
			first[d.SrcDomain] = true
		}
	}
	return int64(len(first)), depth, suspicion, atLeast, seed, any
}

func (s *slow) score(row *schema.URL, suspicion float32) float32 {
	return task.Priority(s.set, task.Facts{Depth: row.Depth, Inlinks: row.Inlinks,
		Seed: row.UserSignal > 0, HomePage: strings.Count(row.URL, "/") == 3 &&
			strings.HasSuffix(row.URL, "/"), Suspicion: suspicion, UserSignal: row.UserSignal,
		Freshness: task.Freshness(row.LastCrawled > 0, row.Visits, row.Changes)})
}

func (s *slow) final(f schema.Fetch) {
	key := urlKey(f.URL)
	old := s.URLs[key]
	row := old
	policy, _ := schema.PolicyOf(f.Reason)
	if n, depth, _, _, _, any := s.gains(f.URL); any {
		row.Inlinks, row.Depth = row.Inlinks+n, min(row.Depth, depth)
	}
	row.Round, row.Reason, row.HTTPStatus = int64(s.spec.Job), f.Reason, f.HTTPStatus
	if policy.Status != "" {
		row.CrawlStatus = policy.Status
	}
	if policy.Blame {
		row.FailCount++
	} else if policy.Due == schema.DueInterval || policy.Due == schema.DueRarely {
		row.FailCount = 0
	}
	change := s.visit(&row, &old, f, policy)
	if f.HTTPStatus > 0 {
		row.LastCrawled = f.StartedAt
	}
	s.schedule(&row, &old, f, policy, change)
	s.URLs[key] = row
}

func (s *slow) visit(row, old *schema.URL, f schema.Fetch, policy schema.Policy) string {
	change := ""
	if f.Reason == schema.NotModified {
		change = schema.ChangeNotModified
	}
	if f.Reason == schema.Redirected {
		switch row.RedirectURL = f.RedirectTo; {
		case old.CrawlCount == 0:
			change = schema.ChangeNew
		case old.RedirectURL == f.RedirectTo:
			change = schema.ChangeSame
		default:
			change = schema.ChangeChanged
		}
	}
	for _, p := range s.met.pages {
		if p.URL == f.URL {
			change = p.Change
			row.ETag, row.LastModified, row.ContentHash, row.SimHash = p.ETag, p.LastModified,
				p.ContentHash, p.SimHash
			row.CanonicalURL, row.NoIndex, row.RedirectURL = p.CanonicalURL, p.NoIndex, ""
			row.BlobPath, row.BlobOffset, row.BlobLength = p.BlobPath, p.BlobOffset, p.BlobLength
		}
	}
	if row.DuplicateOf = ""; f.Reason == schema.SchemeTwin {
		row.DuplicateOf = weburl.SchemeTwin(f.URL)
	}
	if change == "" && (policy.Status != schema.Completed || f.HTTPStatus == 0) {
		return ""
	}
	if old.CrawlCount > 0 && change != "" && change != schema.ChangeNew {
		row.Visits++
		row.Observed += max(f.StartedAt-old.LastCrawled, 0)
		if change == schema.ChangeChanged {
			row.Changes++
		}
	}
	row.CrawlCount++
	return change
}

func (s *slow) schedule(row, old *schema.URL, f schema.Fetch, policy schema.Policy, change string) {
	now, longest := s.spec.Now, s.set.IntervalMax.D().Milliseconds()
	row.Why = schema.WhyRecrawl
	switch policy.Due {
	case schema.DueInterval:
		v := task.Visit{Interval: old.Interval, Change: change,
			Priority: row.UserSignal > 0 || task.HomePage(row.URL)}
		if old.Reason == schema.RobotsDenied {
			v.Interval = 0
		}
		row.Interval = task.NextInterval(s.set, v)
		if t, ok := s.set.Terms[row.Seed]; ok && t.Interval != 0 {
			row.Interval = int64(t.Interval) / 1e6
		}
		row.NextCrawl = now + row.Interval
	case schema.DueRetry:
		s.retry(row, f, longest)
	case schema.DueRarely:
		row.NextCrawl = now + longest
	case schema.DueRefresh:
		row.Interval = s.set.RobotsTTL.D().Milliseconds()
		if old.Reason == schema.RobotsDenied {
			row.Interval = min(2*old.Interval, longest)
		}
		row.NextCrawl = now + row.Interval
	case schema.DueGroup:
		row.NextCrawl, row.Why = s.retryAt(row.Domain, row.Host), schema.WhyBackoff
	case schema.DueBlock, schema.DueNever:
		if policy.Due == schema.DueBlock && f.RetryAt != 0 {
			row.NextCrawl, row.Why = max(f.RetryAt, now), schema.WhyBackoff
			break
		}
		row.NextCrawl, row.Why, row.Queued, row.QueuedRank = 0, "", 0, 0
		row.Priority = s.score(row, s.suspicion(row))
		return
	case schema.DueAgain:
		list := s.lists[f.URL]
		row.NextCrawl, row.Why = list.Due, list.Why
		if f.Reason == schema.RobotsUnreachable {
			scheme, rest, _ := strings.Cut(f.URL, "://")
			authority, _, _ := strings.Cut(rest, "/")
			for _, r := range s.Robots {
				if r.Authority == scheme+"://"+authority && r.Expires > row.NextCrawl {
					row.NextCrawl, row.Why = r.Expires, schema.WhyBackoff
				}
			}
		}
		row.Priority = list.Priority
		row.Queued, row.QueuedRank = int64(s.spec.Job), task.Rank(row.Priority, row.NextCrawl)
		return
	}
	row.Priority = s.score(row, s.suspicion(row))
	row.Queued, row.QueuedRank = int64(s.spec.Job), task.Rank(row.Priority, row.NextCrawl)
}

// retry checks the jitter's bounds only; its value is the product's.
func (s *slow) retry(row *schema.URL, f schema.Fetch, longest int64) {
	if int(row.FailCount) > s.set.Retries {
		row.CrawlStatus, row.NextCrawl = schema.Failed, s.spec.Now+longest
		s.letters = append(s.letters, schema.DeadLetter{Domain: row.Domain, Host: row.Host,
			URL: row.URL, Round: int64(s.spec.Job), At: s.spec.Now, Reason: f.Reason, Detail: f.Detail,
			HTTPStatus: f.HTTPStatus, FailCount: row.FailCount})
		return
	}
	row.Why, row.NextCrawl = schema.WhyRetry, 0
}

// jitter fills in the due time of a retry from what the product chose, if that
// lies within its bounds.
func (s *slow) jitter(product map[lsm.Key]schema.URL) {
	for key, row := range s.URLs {
		if row.Why != schema.WhyRetry || row.NextCrawl != 0 {
			continue
		}
		waits := []int64{300_000, 1_800_000, 10_800_000}
		wait := waits[min(int(row.FailCount), len(waits))-1]
		due := product[key].NextCrawl
		if d := due - s.spec.Now; d >= wait*8/10 && d <= wait*12/10 {
			row.NextCrawl = due
		}
		row.QueuedRank = task.Rank(row.Priority, row.NextCrawl)
		s.URLs[key] = row
	}
}

func (s *slow) suspicion(row *schema.URL) float32 {
	n, err := weburl.Normalize(row.URL, weburl.Options{})
	if err != nil {
		panic(err)
	}
	return float32(s.traps.Decide(n, row.Domain, int(row.Depth)).Suspicion)
}

func (s *slow) retryAt(domain, host string) (until int64) {
	for _, f := range s.met.fetches {
		if s.sameGroup(f.Domain, f.Host, domain, host) && f.Reason != schema.Blocked {
			until = max(until, f.RetryAt)
		}
	}
	return until
}

func (s *slow) sameGroup(d1, h1, d2, h2 string) bool {
	return d1 == d2 && (h1 == h2 || !s.set.GroupByHost)
}

func (s *slow) links(done []lsm.Key) {
	targets := map[lsm.Key]bool{}
	for _, d := range s.met.discoveries {
		targets[urlKey(d.URL)] = true
	}
	gained := map[lsm.Key]int64{}
	for _, key := range slices.SortedFunc(maps.Keys(targets), lsm.Key.Compare) {
		url := key.URL
		if slices.Contains(done, key) {
			continue
		}
		n, depth, suspicion, atLeast, seed, _ := s.gains(url)
		row, known := s.URLs[key]
		if !known {
			row = schema.URL{Partition: int32(key.Partition), Domain: key.Domain, Host: key.Host,
				URL: url, CrawlStatus: schema.Pending, Depth: depth, Seed: seed, Inlinks: n,
				DiscoveredAt: s.spec.Now, NextCrawl: s.spec.Now, Why: schema.WhyNew,
				Queued: int64(s.spec.Job), Round: int64(s.spec.Job)}
			row.Priority = max(s.score(&row, suspicion), atLeast)
			row.QueuedRank = task.Rank(row.Priority, row.NextCrawl)
			s.keepBack(&row, gained)
			s.URLs[key] = row
			continue
		}
		row.Inlinks, row.Depth = row.Inlinks+n, min(row.Depth, depth)
		if priority := max(s.score(&row, suspicion), atLeast); row.Queued != 0 {
			rank := task.Rank(priority, row.NextCrawl)
			if float64(rank-row.QueuedRank) >= task.RankScale/16.0 {
				row.Queued, row.QueuedRank, row.Priority = int64(s.spec.Job), rank, priority
				s.promoted[url] = true
			}
		}
		s.URLs[key] = row
	}
}

func (s *slow) hosts() {
	touched := map[lsm.Key]bool{}
	for _, f := range s.met.fetches {
		key := urlKey("http://" + f.Host + "/")
		key.URL = ""
		policy, _ := schema.PolicyOf(f.Reason)
		if f.HTTPStatus > 0 || policy.Group || policy.Blame {
			touched[key] = true
		}
	}
	for key := range touched {
		row := s.Hosts[key]
		row.Partition, row.Domain, row.Host = int32(key.Partition), key.Domain, key.Host
		row.Round = int64(s.spec.Job)
		var mine []schema.Fetch
		for _, f := range s.met.fetches {
			if f.Host == key.Host {
				mine = append(mine, f)
			}
		}
		slices.SortFunc(mine, func(a, b schema.Fetch) int {
			return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.TTFB, b.TTFB))
		})
		for _, f := range mine {
			s.hostRow(&row, f)
		}
		for _, p := range s.met.pages {
			if p.Host == key.Host {
				row.Pages++
			}
		}
		s.Hosts[key] = row
	}
}

func (s *slow) hostRow(row *schema.Host, f schema.Fetch) {
	policy, _ := schema.PolicyOf(f.Reason)
	row.Bytes += f.Bytes
	if f.IP != "" {
		row.Fetches++
		row.LastAccessed = max(row.LastAccessed, f.StartedAt+int64(f.Duration))
		if policy.Group || policy.Blame {
			row.Failed++
		}
	}
	if f.HTTPStatus == 0 {
		return
	}
	if row.Latency == 0 {
		row.Latency = max(int64(f.TTFB), 1)
		return
	}
	row.Latency = max((4*row.Latency+int64(f.TTFB)+2)/5, 1)
}

func (s *slow) domains(oldRobots map[lsm.Key]schema.Robots) {
	groups := map[lsm.Key]bool{}
	add := func(domain, host string) {
		if !s.set.GroupByHost {
			host = ""
		}
		groups[lsm.Key{Partition: weburl.Partition(domain), Domain: domain, Host: host}] = true
	}
	for key := range s.URLs {
		add(key.Domain, key.Host)
	}
	for _, slot := range s.slots {
		add(slot.Domain, slot.Host)
	}
	for key := range groups {
		old, there := s.Domains[key]
		row := s.domain(key, old, oldRobots)
		same := row
		same.Delay, same.DelayWhy = old.Delay, old.DelayWhy
		if !there || same != old {
			row.Round = int64(s.spec.Job)
			s.Domains[key] = row
		}
	}
}

func (s *slow) domain(key lsm.Key, row schema.Domain,
	oldRobots map[lsm.Key]schema.Robots) schema.Domain {
	row.Partition, row.Domain, row.Host = int32(key.Partition), key.Domain, key.Host
	row.Known, row.Pending, row.Failed, row.Pages, row.Held = 0, 0, 0, 0, 0
	mine := func(domain, host string) bool { return s.sameGroup(domain, host, key.Domain, key.Host) }
	for k, url := range s.URLs {
		if !mine(k.Domain, k.Host) {
			continue
		}
		row.Known++
		switch url.CrawlStatus {
		case schema.Pending:
			row.Pending++
		case schema.Failed:
			row.Failed++
		}
		if url.BlobPath != "" {
			row.Pages++
		}
		if url.Reason == schema.DomainFull {
			row.Held++
		}
	}
	var asked []schema.Fetch
	for _, f := range s.met.fetches {
		if mine(f.Domain, f.Host) {
			asked = append(asked, f)
		}
	}
	slices.SortFunc(asked, func(a, b schema.Fetch) int {
		return cmp.Compare(a.StartedAt, b.StartedAt)
	})
	for _, f := range asked {
		if f.Reason != schema.Blocked {
			row.BackoffUntil = max(row.BackoffUntil, f.RetryAt)
		}
		if f.IP != "" {
			row.LastAccessed = max(row.LastAccessed, f.StartedAt+int64(f.Duration))
			if day := time.UnixMilli(f.StartedAt).UTC().Truncate(24 * time.Hour).UnixMilli(); f.Kind != "page" {
			} else if day > row.AskedDay {
				row.AskedDay, row.Asked = day, 1
			} else if day == row.AskedDay {
				row.Asked++
			}
		}
		policy, _ := schema.PolicyOf(f.Reason)
		switch {
		case f.HTTPStatus == 429 || f.HTTPStatus == 503:
			row.Backoffs++
		case f.HTTPStatus > 0 && f.HTTPStatus < 500 && !policy.Group:
			row.Backoffs, row.ErrorCount = 0, 0
		}
		if policy.Group {
			row.ErrorCount++
		}
	}
	for _, slot := range s.slots {
		if twin.Key(slot.Partition, slot.Domain, slot.Host, "") == key {
			row.NextSlot = slot.NextSlot
		}
	}
	row.NearDup += s.nearDuplicates(mine)
	s.delays(&row, mine, oldRobots)
	return row
}

func (s *slow) nearDuplicates(mine func(domain, host string) bool) (n int64) {
	var fresh []schema.Page
	for _, p := range s.met.pages {
		if mine(p.Domain, p.Host) && p.Change == schema.ChangeNew && p.ContentHash != 0 {
			fresh = append(fresh, p)
		}
	}
	slices.SortFunc(fresh, func(a, b schema.Page) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.URL, b.URL))
	})
	var firsts []schema.Page
	for _, p := range fresh {
		near := slices.ContainsFunc(firsts, func(q schema.Page) bool {
			return q.ContentHash == p.ContentHash || bits.OnesCount64(q.SimHash^p.SimHash) <= 3
		})
		if near {
			n++
		} else {
			firsts = append(firsts, p)
		}
	}
	return n
}

func (s *slow) delays(row *schema.Domain, mine func(domain, host string) bool,
	oldRobots map[lsm.Key]schema.Robots) {
	read, now, before := false, int64(0), int64(0)
	for key, r := range s.Robots {
		_, host, _ := strings.Cut(r.Authority, "://")
		if r.Round != int64(s.spec.Job) || r.Status == "unreachable" || !mine(r.Domain, host) {
			continue
		}
		read, now, before = true, max(now, r.CrawlDelay), max(before, oldRobots[key].CrawlDelay)
	}
	if read && (row.CrawlDelay <= now || row.CrawlDelay <= before) {
		row.CrawlDelay = now
	}
	row.Delay, row.DelayWhy = s.set.Delay.D().Milliseconds(), "default"
	if row.CrawlDelay > row.Delay {
		row.Delay, row.DelayWhy = row.CrawlDelay, "crawl_delay"
	}
}
