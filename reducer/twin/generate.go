package twin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/robotstxt"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/task"
)

// Generated is what a generate task leaves.
type Generated struct {
	Lists    []schema.List
	Deferred []schema.FrontierRow
	Moved    []schema.FrontierRow
	Refused  []schema.Fetch
	Slots    []schema.Domain
	Popped   int
	Consumed map[string]map[uint16]int // kind/id → partition → rows from the front
}

// Generate does a generate task on the world, which it leaves as it was. The
// quotas and limits of each partition are given.
func (w *World) Generate(spec jobs.Spec, s settings.Settings, sc *scope.Scope, r layout.Range,
	quotas, limits func(p uint16) int64) Generated {
	out := Generated{Consumed: map[string]map[uint16]int{}}
	for _, run := range w.Runs {
		out.Consumed[run.Kind+"/"+run.ID] = map[uint16]int{}
	}
	for p := r.Lo; p < r.Hi; p++ {
		g := &generate{w: w, spec: spec, settings: s, scope: sc, out: &out, p: p,
			groups: map[lsm.Key]*share{}, asOf: spec.Now}
		if spec.Round.AsOf != 0 {
			g.asOf = spec.Round.AsOf
		}
		g.partition(quotas(p), limits(p))
	}
	slices.SortFunc(out.Lists, func(a, b schema.List) int {
		return Key(a.Partition, a.Domain, a.Host, a.URL).Compare(Key(b.Partition, b.Domain, b.Host, b.URL))
	})
	slices.SortFunc(out.Deferred, func(a, b schema.FrontierRow) int {
		return lsm.CompareWaiting(&a, &b)
	})
	slices.SortFunc(out.Refused, func(a, b schema.Fetch) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Host, b.Host),
			cmp.Compare(a.URL, b.URL))
	})
	return out
}

// generate is one partition's turn.
type generate struct {
	w        *World
	spec     jobs.Spec
	settings settings.Settings
	scope    *scope.Scope
	out      *Generated
	p        uint16
	asOf     int64
	groups   map[lsm.Key]*share
	order    []lsm.Key // of groups, as met
	kept     []*keptRow
}

// share is a politeness group's part of the round.
type share struct {
	row    schema.Domain
	budget int64
	listed []*keptRow
	full   bool
	pages  int64
}

type keptRow struct {
	list   schema.List
	cost   int64
	prefix string
	listed bool
	group  *share
}

type candidate struct {
	row schema.FrontierRow
	run string // kind/id; "": moved
}

func (g *generate) takes(row *schema.FrontierRow) bool {
	return row.Due <= g.asOf ||
		g.spec.Round.DueNow && row.Why != schema.WhyDay && row.Ticket <= int64(g.spec.Round.DueTicket)
}

func (g *generate) partition(quota, limit int64) {
	candidates := g.candidates(limit)
	listed, popped := func() (n int64) {
		for _, k := range g.kept {
			if k.listed {
				n++
			}
		}
		return n
	}, int64(0)
	for len(candidates) > 0 && listed() < quota && popped < limit {
		c := candidates[0]
		candidates = candidates[1:]
		popped++
		if c.run != "" {
			g.out.Consumed[c.run][g.p]++
		}
		g.decide(c.row)
	}
	g.out.Popped += int(popped)
	for _, c := range candidates {
		if c.run == "" {
			g.out.Moved = append(g.out.Moved, c.row)
		}
	}
	g.finish()
}

// candidates moves what is due and gives it with the ready rows, by rank.
func (g *generate) candidates(limit int64) []candidate {
	var all []candidate
	for _, run := range g.w.Runs {
		if run.Kind == schema.Ready {
			for _, row := range run.Left(g.p) {
				all = append(all, candidate{row, run.Kind + "/" + run.ID})
			}
		}
	}
	for _, run := range g.w.Runs {
		if run.Kind != schema.Waiting {
			continue
		}
		for _, row := range run.Left(g.p) {
			if limit == 0 || !g.takes(&row) && !g.spec.Round.DueNow {
				break
			}
			g.out.Consumed[run.Kind+"/"+run.ID][g.p]++
			if g.takes(&row) {
				all = append(all, candidate{row: row})
				limit--
			} else {
				g.out.Deferred = append(g.out.Deferred, row)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return lsm.CompareReady(&a.row, &b.row) })
	return all
}

func (g *generate) decide(row schema.FrontierRow) {
	url, known := g.w.URLs[Key(row.Partition, row.Domain, row.Host, row.URL)]
	if !known || url.Queued == 0 || url.Queued != row.Ticket {
		return
	}
	if !g.takes(&row) {
		g.out.Deferred = append(g.out.Deferred, row)
		return
	}
	normal, err := weburl.Normalize(row.URL, weburl.Options{})
	if err != nil {
		panic(err)
	}
	for _, b := range g.settings.Blocks {
		l, err := settings.NewBlocklist([]settings.Block{b}, g.spec.Now)
		if err != nil {
			panic(err)
		}
		if l.Find(normal) != nil {
			g.out.Refused = append(g.out.Refused, schema.Fetch{Domain: row.Domain, Host: row.Host,
				URL: row.URL, Round: int64(g.spec.Job), Final: true, Kind: "page",
				StartedAt: g.spec.Now, Reason: schema.Blocked, Detail: b.Reason, Rule: b.What,
				RetryAt: b.Until})
			return
		}
	}
	if v := g.scope.Of(url.Seed).Decide(normal, row.Domain, int(url.Depth)); !v.Accepted {
		reason := map[string]string{scope.ByRule: schema.RuleOut, scope.OutOfScope: schema.OutOfScope,
			scope.Scheme: schema.OutOfScope}[v.Code]
		g.out.Refused = append(g.out.Refused, schema.Fetch{Domain: row.Domain, Host: row.Host,
			URL: row.URL, Round: int64(g.spec.Job), Final: true, Kind: "page", StartedAt: g.spec.Now,
			Reason: cmp.Or(reason, schema.Trap), Detail: v.Code, Rule: v.Rule})
		return
	}
	if rule := g.forbidden(&row, normal); rule != "" {
		g.out.Refused = append(g.out.Refused, schema.Fetch{Domain: row.Domain, Host: row.Host,
			URL: row.URL, Round: int64(g.spec.Job), Final: true, Kind: "page", StartedAt: g.spec.Now,
			Reason: schema.RobotsDenied, Rule: rule})
		return
	}
	group := g.group(&row)
	if group.row.BackoffUntil > g.spec.Now {
		row.Due, row.Why, row.Depth = group.row.BackoffUntil, schema.WhyBackoff, url.Depth
		g.out.Deferred = append(g.out.Deferred, row)
		return
	}
	switch g.besideTwin(&row, &url) {
	case "refused":
		g.out.Refused = append(g.out.Refused, schema.Fetch{Domain: row.Domain, Host: row.Host,
			URL: row.URL, Round: int64(g.spec.Job), Final: true, Kind: "page", StartedAt: g.spec.Now,
			Reason: schema.SchemeTwin, Detail: other(row.URL)})
		return
	case "waits":
		row.Due, row.Why, row.Depth = g.spec.Now+group.row.Delay, schema.WhySlot, url.Depth
		g.out.Deferred = append(g.out.Deferred, row)
		return
	}
	g.keep(group, &row, &url)
}

// besideTwin says how a URL stands beside the one at the other scheme.
func (g *generate) besideTwin(row *schema.FrontierRow, url *schema.URL) string {
	authority := strings.Join(strings.SplitN(other(row.URL), "/", 4)[:3], "/")
	robots := g.w.Robots[Key(row.Partition, row.Domain, "", authority)]
	twin, known := g.w.URLs[Key(row.Partition, row.Domain, row.Host, other(row.URL))]
	if g.settings.BothSchemes || !known || robots.Status != "parsed" && robots.Status != "allow_all" {
		return ""
	}
	secure, asked := strings.HasPrefix(row.URL, "https:"), url.CrawlCount > 0
	switch twin.Reason {
	case schema.OK, schema.NotModified:
		if !secure || !asked {
			return "refused"
		}
	case "":
		if !secure && !asked && twin.Queued != 0 {
			return "waits"
		}
	}
	return ""
}

// other is a URL at the other of http and https.
func other(url string) string {
	if rest, ok := strings.CutPrefix(url, "http:"); ok {
		return "https:" + rest
	}
	return "http:" + strings.TrimPrefix(url, "https:")
}

// forbidden gives the line of a robots.txt that is known, holds now and forbids a URL.
func (g *generate) forbidden(row *schema.FrontierRow, u weburl.Normal) string {
	authority := u.Scheme + "://" + u.Authority
	robots, known := g.w.Robots[lsm.Key{Partition: uint16(row.Partition), Domain: row.Domain,
		URL: authority}]
	if !known || robots.Status != "parsed" || robots.Expires <= g.spec.Now {
		return ""
	}
	decision := robotstxt.Parse([]byte(robots.Text)).Agent(g.settings.Agent).Decide(u.Path)
	if decision.Allowed {
		return ""
	}
	return fmt.Sprintf("%s/robots.txt:%d: %s", authority, decision.Line, decision.Rule)
}

// group is the politeness group of a row with its budget.
func (g *generate) group(row *schema.FrontierRow) *share {
	key := Key(row.Partition, row.Domain, "", "")
	if g.settings.GroupByHost {
		key.Host = row.Host
	}
	if group := g.groups[key]; group != nil {
		return group
	}
	group := &share{row: g.w.Domains[key], budget: g.spec.Round.Duration}
	group.row.Partition, group.row.Domain, group.row.Host = row.Partition, key.Domain, key.Host
	group.row.Delay = max(g.settings.Delay.D().Milliseconds(), group.row.CrawlDelay)
	group.pages = g.pages(&group.row)
	if fresh := group.row.Pages - group.row.NearDup; group.row.Pages >= 50 &&
		fresh < group.row.NearDup {
		group.budget = 2 * group.budget * max(fresh, 0) / group.row.Pages
	}
	if group.row.Delay > 300_000 {
		group.budget = 0
	}
	g.groups[key] = group
	g.order = append(g.order, key)
	return group
}

// askedToday is how many pages of a group were asked for today.
func (g *generate) askedToday(row *schema.Domain) int64 {
	if time.UnixMilli(row.AskedDay).Equal(time.UnixMilli(g.spec.Now).Truncate(24 * time.Hour)) {
		return min(row.Asked, g.settings.PagesDay)
	}
	return 0
}

// pages is how many URLs of a group the round may have.
func (g *generate) pages(row *schema.Domain) int64 {
	most := int64(1) << 60
	if n := g.settings.PagesRound; n > 0 {
		most = n
	}
	if n := g.settings.PagesDay; n > 0 {
		most = min(most, n-g.askedToday(row))
	}
	return most
}

// later is when the group has room for one more that waits, behind given others.
func (g *generate) later(group *share, slot, given int64) (due int64, why string) {
	if n := g.settings.PagesDay; n > 0 {
		days := (g.askedToday(&group.row) + int64(len(group.listed)) + given) / n
		midnight := time.UnixMilli(g.spec.Now).Truncate(24 * time.Hour)
		if day := midnight.AddDate(0, 0, int(min(days, 30))).UnixMilli(); day > slot {
			return day, schema.WhyDay
		}
	}
	return slot, schema.WhySlot
}

// keep lists a URL if there is room, or if its path prefix has fewer than
// another, whose last one then makes room; else it waits for a slot.
func (g *generate) keep(group *share, row *schema.FrontierRow, url *schema.URL) {
	latency := g.w.Hosts[Key(row.Partition, row.Domain, row.Host, "")].Latency
	k := &keptRow{cost: max(group.row.Delay+latency, 1), prefix: firstSegment(row.Host, row.URL),
		group: group, list: listRow(row, url, g.spec.Job, g.asOf)}
	g.kept = append(g.kept, k)
	used, count := int64(0), map[string]int{}
	for _, l := range group.listed {
		used += l.cost
		count[l.prefix]++
	}
	if int64(len(group.listed)) >= group.pages || len(group.listed) > 0 && used+k.cost > group.budget {
		group.full = true
		if len(group.listed) == 0 {
			return
		}
		most := 0
		for _, n := range count {
			most = max(most, n)
		}
		// The last listed of the largest prefixes.
		last := len(group.listed) - 1
		for count[group.listed[last].prefix] < most {
			last--
		}
		worst := group.listed[last]
		if most < count[k.prefix]+2 || used-worst.cost+k.cost > group.budget {
			return
		}
		worst.listed = false
		group.listed = slices.Delete(group.listed, last, last+1)
	}
	k.listed = true
	group.listed = append(group.listed, k)
}

func listRow(row *schema.FrontierRow, url *schema.URL, job uint64, asOf int64) schema.List {
	return schema.List{Partition: row.Partition, Domain: row.Domain, Host: row.Host, URL: row.URL,
		Band: task.Band(row.Rank, asOf), Priority: row.Priority, Depth: url.Depth, Seed: url.Seed,
		Due: row.Due, Why: row.Why, Rank: row.Rank, Ticket: row.Ticket, ETag: url.ETag,
		LastModified: url.LastModified, ContentHash: url.ContentHash, SimHash: url.SimHash,
		CrawlCount: url.CrawlCount, FailCount: url.FailCount, LastCrawled: url.LastCrawled,
		BlobPath: url.BlobPath, BlobOffset: url.BlobOffset, BlobLength: url.BlobLength,
		Round: int64(job)}
}

// firstSegment is "host/segment" of a URL whose path has directories.
func firstSegment(host, url string) string {
	path, _, _ := strings.Cut(strings.SplitN(url, "/", 4)[3], "?")
	if segment, _, ok := strings.Cut(path, "/"); ok {
		return host + "/" + segment
	}
	return host
}

// finish gives positions and slots.
func (g *generate) finish() {
	slices.SortFunc(g.order, lsm.Key.Compare)
	for _, key := range g.order {
		group := g.groups[key]
		for i, k := range turns(group) {
			k.list.Position = int32(i)
			g.out.Lists = append(g.out.Lists, k.list)
		}
		next := max(group.row.NextSlot, g.spec.Now)
		deferred, given := false, int64(0)
		for _, k := range g.kept {
			if k.group != group || k.listed {
				continue
			}
			deferred = true
			next += k.cost
			due, why := g.later(group, next, given)
			given++
			l := &k.list
			g.out.Deferred = append(g.out.Deferred, schema.FrontierRow{Partition: l.Partition,
				Domain: l.Domain, Host: l.Host, URL: l.URL, Priority: l.Priority, Depth: l.Depth,
				Due: due, Rank: l.Rank, Ticket: l.Ticket, Why: why})
		}
		if deferred {
			g.out.Slots = append(g.out.Slots, schema.Domain{Partition: group.row.Partition,
				Domain: group.row.Domain, Host: group.row.Host, NextSlot: next,
				Round: int64(g.spec.Job)})
		}
	}
}

// turns gives a group's listed URLs in the order of fetching: round the
// prefixes if there were more candidates than room.
func turns(group *share) []*keptRow {
	if !group.full {
		return group.listed
	}
	var order []*keptRow
	for turn := 0; len(order) < len(group.listed); turn++ {
		seen := map[string]int{}
		for _, k := range group.listed {
			if seen[k.prefix] == turn {
				order = append(order, k)
			}
			seen[k.prefix]++
		}
	}
	return order
}
