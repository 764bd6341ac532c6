package main

import (
	"context"
	"fmt"
	"time"

	"seine/formats/layout"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/weburl"
	"seine/mapper/robots"
	"seine/reducer/task"
)

// explanation gathers the decisions about one URL.
type explanation struct {
	look     *looking
	settings settings.Settings
	sheets   sheet.Values
	raw      string
	url      weburl.Normal
	domain   string
	row      schema.URL
	known    bool
	now      time.Time
	steps    []step
}

func newExplanation(ctx context.Context, l *looking, raw string) (*explanation, error) {
	e := &explanation{look: l, raw: raw, now: time.Now()}
	var err error
	if e.settings, err = l.newest(ctx); err != nil {
		return nil, err
	}
	if e.url, err = weburl.Normalize(raw, weburl.Options{}); err != nil {
		e.stop("normal form", "%s: %v; it can be in no table", weburl.Redact(raw), err)
		return e, nil
	}
	e.domain = l.Suffixes.Domain(e.url.Host)
	e.row, e.known, err = l.url(ctx, e.url)
	return e, err
}

func (e *explanation) say(name, format string, args ...any) {
	e.steps = append(e.steps, step{Name: name, Text: fmt.Sprintf(format, args...)})
}

func (e *explanation) stop(name, format string, args ...any) {
	e.steps = append(e.steps, step{Name: name, Text: fmt.Sprintf(format, args...), Stops: true})
}

// decide takes the decisions in the crawl's order.
func (e *explanation) decide(ctx context.Context) error {
	if e.domain == "" {
		return nil // no URL that is crawled
	}
	if e.url.URL == e.raw {
		e.say("normal form", "it is in normal form")
	} else {
		e.say("normal form", "%s", e.url.URL)
	}
	e.say("domain", "%s, host %s, partition %d", e.domain, e.url.Host, weburl.Partition(e.domain))
	for _, part := range []func(context.Context) error{e.scope, e.blocks, e.sheet, e.terms, e.robots, e.frontier,
		e.group, e.fetched} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *explanation) scope(ctx context.Context) error {
	p := weburl.Partition(e.domain)
	s, err := e.look.Env("").Scope(ctx, e.look.head, e.settings, layout.Range{Lo: p, Hi: p + 1}, 0)
	if err != nil {
		return err
	}
	s = s.Of(e.row.Seed)
	v := s.Decide(e.url, e.domain, int(e.row.Depth))
	switch {
	case v.Accepted && v.Suspicion > 0.3:
		e.say("scope", "let in by %s; it looks somewhat like a trap (%.0f %%), which lowers its priority",
			v.Rule, 100*v.Suspicion)
	case v.Accepted:
		e.say("scope", "let in by %s%s", v.Rule, e.place(s))
	case v.Code == scope.OutOfScope:
		e.stop("scope", "outside the scope of the seeds (%s): no seed has this domain, host or prefix; "+
			"`--scope any` or `--rules +domain:%s` lets it in", e.settings.Scope, e.domain)
	case v.Code == scope.ByRule:
		e.stop("rule", "kept out by the rule %s%s", v.Rule, e.place(s))
	default:
		e.stop("trap", "%s: over the limit %s", v.Code, v.Rule)
	}
	return nil
}

// place says where the rule stands that decides, if one does.
func (e *explanation) place(s *scope.Scope) string {
	p, ok := s.Locate(e.url)
	if !ok {
		return ""
	}
	text := fmt.Sprintf(", rule %d of %d", p.Rule, len(e.settings.Rules))
	if p.Line > 0 {
		text += fmt.Sprintf(", by line %d of the file: %s", p.Line, p.Text)
	}
	if o, ok := e.settings.Origins["rules"]; ok {
		text += " (" + originText(o) + ")"
	}
	return text
}

func (e *explanation) blocks(context.Context) error {
	list, err := settings.NewBlocklist(e.settings.Blocks, e.now.UnixMilli())
	if err != nil {
		return err
	}
	b := list.Find(e.url)
	switch {
	case b != nil:
		e.stop("block", "%s; `seine unblock %s` lifts it", blockText(*b, e.now), b.What)
	case e.row.Reason == schema.Blocked && e.row.Queued == 0:
		e.stop("block", "it was blocked when its turn came, and is not any more; `seine requeue %s` makes it due",
			e.url.URL)
	default:
		e.say("block", "not blocked")
	}
	return nil
}

func (e *explanation) robots(ctx context.Context) error {
	row, known, err := e.look.robots(ctx, e.url)
	if err != nil {
		return err
	}
	authority := e.url.Scheme + "://" + e.url.Authority
	if !known {
		e.say("robots.txt", "of %s was not asked for yet; it is before the first page", authority)
		return nil
	}
	record := robots.RecordOf(&row)
	answer := answerOf(e.url.Path, record.Rules(e.sheets.Named(e.settings.Agent)).Decide(e.url.Path))
	age := fmt.Sprintf("(read %s, used until %s)", clock(row.FetchedAt, e.now), clock(row.Expires, e.now))
	switch {
	case answer.Line > 0 && answer.Allowed:
		e.say("robots.txt", "%s %s", answer.text(), age)
	case answer.Line > 0:
		e.stop("robots.txt", "%s %s", answer.text(), age)
	case answer.Allowed:
		e.say("robots.txt", "%s, HTTP %d: allowed, no rule matches %s", row.Status, row.HTTPStatus, age)
	default:
		e.stop("robots.txt", "%s, HTTP %d, %d times in a row: nothing is asked for until it answers; tried "+
			"again at %s", row.Status, row.HTTPStatus, row.Failures, clock(row.Expires, e.now))
	}
	return nil
}

// frontier says whether the URL is known and why it waits.
func (e *explanation) frontier(context.Context) error {
	if !e.known {
		e.stop("known", "never discovered: no seed, no followed link of a fetched page, no redirect and no "+
			"sitemap led to it; `seine inject %s` brings it in", e.url.URL)
		return nil
	}
	r := e.row
	origin := "discovered"
	if r.Seed == "seed" || r.Depth == 0 && r.Seed != "" {
		origin = "a seed"
	}
	e.say("known", "%s, at %s, depth %d, inlinks from %d domains, status %s", origin,
		clock(r.DiscoveredAt, e.now), r.Depth, r.Inlinks, r.CrawlStatus)
	e.say("priority", "%.3f, band %s now", r.Priority, task.Band(r.QueuedRank, e.now.UnixMilli()))
	switch {
	case r.Reason == schema.DomainFull:
		e.stop("waits", "for room: %s had too many URLs outstanding when it was discovered (max_outstanding is "+
			"%d now); it comes back when half of them are gone, `seine requeue %s` brings it back at once",
			e.domain, e.sheets.Room(e.settings), r.URL)
	case r.Queued == 0:
		e.stop("waits", "for nothing: it is not tried again by itself (%s)", r.Reason)
	case r.NextCrawl > e.now.UnixMilli():
		e.stop("waits", "for %s, due at %s (ticket %d)", whyText(r.Why), clock(r.NextCrawl, e.now), r.Queued)
	default:
		e.say("waits", "for %s; due since %s (ticket %d)", whyText(r.Why), clock(r.NextCrawl, e.now), r.Queued)
	}
	return nil
}

// group says what its politeness group allows.
func (e *explanation) group(ctx context.Context) error {
	g, known, err := e.look.group(ctx, e.domain, e.url.Host, e.settings.GroupByHost)
	if err != nil {
		return err
	}
	ms, why := task.Delay(e.settings, e.sheets, g.CrawlDelay)
	delay := time.Duration(ms) * time.Millisecond
	if !known {
		e.say("budget", "nothing of its domain was asked for yet; one request per %v (%s) then", delay, why)
		return nil
	}
	host, _, err := e.look.host(ctx, e.domain, e.url.Host)
	if err != nil {
		return err
	}
	per := delay + time.Duration(host.Latency)*time.Millisecond
	budget := int64(1)
	if per > 0 {
		budget = max(1, int64(e.settings.RoundDuration.D()/per))
	}
	round, day := e.sheets.Pages(e.settings)
	if round > 0 {
		budget = min(budget, round)
	}
	slot := "now"
	if g.NextSlot > e.now.UnixMilli() {
		slot = "at " + clock(g.NextSlot, e.now)
	}
	kept := ""
	if g.Held > 0 {
		kept = fmt.Sprintf(" (%d kept back: domain_full)", g.Held)
	}
	e.say("budget", "one request per %v (%s): about %d URLs of it a round; %d of its %d URLs are pending%s, next "+
		"slot %s", delay, why, budget, g.Pending, g.Known, kept, slot)
	e.day(g, day)
	if g.BackoffUntil > e.now.UnixMilli() {
		e.stop("back-off", "the domain asked to be left alone until %s", clock(g.BackoffUntil, e.now))
	}
	return nil
}

// day says what is left of the pages of today, where they are bounded.
func (e *explanation) day(g schema.Domain, most int64) {
	today := task.Day(e.now.UnixMilli())
	asked := int64(0)
	if g.AskedDay == today {
		asked = g.Asked
	}
	switch {
	case most == 0:
	case asked < most:
		e.say("pages a day", "%d of %d are asked for today (UTC)", asked, most)
	default:
		e.stop(schema.WhyDay, "%s has had its %d pages of today (UTC); the next are asked for from %s", e.domain,
			most, clock(today+task.DayMS, e.now))
	}
}

// fetched tells the last outcome and what it means.
func (e *explanation) fetched(ctx context.Context) error {
	if !e.known {
		return nil
	}
	rows, err := e.look.fetches(ctx, e.url, "page", 1)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		e.say("last turn", "it had none yet")
		return nil
	}
	f := rows[0]
	text := fetchLine(f)
	if p, ok := schema.PolicyOf(f.Reason); ok {
		text += ": " + p.Means
	}
	if f.StartedAt != 0 {
		text += ", at " + clock(f.StartedAt, e.now)
	}
	e.say("last turn", "%s", text)
	return nil
}

// answer is the explanation in one sentence.
func (e *explanation) answer() string {
	first := ""
	for _, s := range e.steps {
		if s.Stops {
			first = s.Name + ": " + s.Text
			break
		}
	}
	switch {
	case e.known && e.row.Reason == schema.SchemeTwin:
		return "not fetched (" + e.row.Reason + "): " + e.row.DuplicateOf + " is the same page"
	case e.known && e.row.CrawlStatus == schema.Completed:
		text := fmt.Sprintf("fetched: %s, last at %s", e.row.Reason, clock(e.row.LastCrawled, e.now))
		if e.row.Queued != 0 {
			text += ", again from " + clock(e.row.NextCrawl, e.now)
		}
		return text
	case first != "" && e.known && e.row.CrawlStatus == schema.Failed:
		return "not fetched (" + e.row.Reason + "): " + first
	case first != "":
		return "not fetched: " + first
	case e.known && e.row.CrawlStatus == schema.Failed:
		return "failed: " + e.row.Reason
	}
	return "it is due: the next round takes it if its domain has room"
}
