package fold

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"seine/formats/schema"
	"seine/reducer/task"
)

// retryDelays are the waits in ms before the first, second and every later
// retry (DESIGN §10).
var retryDelays = [...]int64{5 * 60_000, 30 * 60_000, 3 * 3_600_000}

// minuteMS is how long a group rests that backed off and did not say how long.
const minuteMS = 60_000

// due says when a URL is looked at again and as what it waits; as nothing, if it
// is not.
func (f *folding) due(row *schema.URL, it *item, policy schema.Policy, change string) (due int64,
	why string, err error) {
	rarely := f.now + f.intervals(row.URL).IntervalMax.D().Milliseconds()
	switch policy.Due {
	case schema.DueInterval:
		return f.interval(row, it, change), schema.WhyRecrawl, nil
	case schema.DueRetry:
		if int(row.FailCount) > f.settings.Retries {
			row.CrawlStatus = schema.Failed
			return rarely, schema.WhyRecrawl, f.bury(row, it.final)
		}
		return f.now + retryDelay(row, f.job), schema.WhyRetry, nil
	case schema.DueRarely:
		return rarely, schema.WhyRecrawl, nil
	case schema.DueRefresh:
		return f.refresh(row, it), schema.WhyRecrawl, nil
	case schema.DueGroup:
		until := max(f.retryAt[f.groupKey(it.key)], it.final.RetryAt)
		if until <= f.now {
			until = f.now + minuteMS
		}
		return until, schema.WhyBackoff, nil
	case schema.DueBlock:
		if until := it.final.RetryAt; until != 0 {
			return max(until, f.now), schema.WhyBackoff, nil
		}
		return 0, "", nil // until `seine unblock`
	case schema.DueNever:
		return 0, "", nil
	}
	return 0, "", fmt.Errorf("%s ended as %q: its due rule %q is unknown", it.key.URL,
		it.final.Reason, policy.Due)
}

// interval is when a URL that was answered is due again.
func (f *folding) interval(row *schema.URL, it *item, change string) int64 {
	before := it.old.Interval
	if it.old.Reason == schema.RobotsDenied {
		before = 0 // that was the wait for robots.txt, not for changes
	}
	row.Interval = task.NextInterval(f.intervals(row.URL), task.Visit{Interval: before, Change: change,
		Priority: isSeed(row) || task.HomePage(row.URL)})
	if terms := f.settings.Terms[row.Seed]; terms.Interval > 0 {
		row.Interval = terms.Interval.D().Milliseconds() // what its seed asks for
	}
	return f.now + row.Interval
}

// refresh is when a URL that robots.txt forbids is looked at again: with its
// next refresh, then each time after twice as long.
func (f *folding) refresh(row *schema.URL, it *item) int64 {
	wait := f.settings.RobotsTTL.D().Milliseconds()
	if it.old.Reason == schema.RobotsDenied && it.old.Interval > 0 {
		wait = 2 * it.old.Interval
	}
	row.Interval = min(wait, f.intervals(row.URL).IntervalMax.D().Milliseconds())
	return f.now + row.Interval
}

// retryDelay is the wait before the next retry, ±20 % by a hash of URL and
// round, so that what failed together does not come back together.
func retryDelay(row *schema.URL, job int64) int64 {
	n := min(max(int(row.FailCount)-1, 0), len(retryDelays)-1)
	h := fnv.New64a()
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(job))
	_, _ = h.Write([]byte(row.URL)) // a hash's Write never fails
	_, _ = h.Write(number[:])
	base := retryDelays[n]
	spread := 2 * base / 5
	return base - base/5 + int64(h.Sum64()%uint64(spread+1))
}

// waitAgain lets a URL that had its turn wait with the due time it had; one whose
// robots.txt was out of reach is not due before that is asked for again. It gets
// a new ticket, because it had its turn: a crawl that takes whatever was queued
// before it began (--due-now) would else take it in every round.
func (f *folding) waitAgain(row *schema.URL, it *item) error {
	row.Priority = it.list.Priority
	row.NextCrawl, row.Why = it.list.Due, it.list.Why
	if it.final.Reason == schema.RobotsUnreachable {
		authority, err := authorityOf(it.final)
		if err != nil {
			return err
		}
		if expires := f.expires[authority]; expires > row.NextCrawl {
			row.NextCrawl, row.Why = expires, schema.WhyBackoff
		}
	}
	row.Queued, row.QueuedRank = f.job, task.Rank(row.Priority, row.NextCrawl)
	return nil
}

// again queues a listed URL that was not asked for, with its old ticket; its row
// in urls stays as it is.
func (f *folding) again(it *item) error {
	f.count(it.left.Reason)
	row := schema.FrontierRow{Partition: it.list.Partition, Domain: it.list.Domain,
		Host: it.list.Host, URL: it.list.URL, Priority: it.list.Priority, Depth: it.list.Depth,
		Due: it.list.Due, Rank: it.list.Rank, Ticket: it.list.Ticket, Why: it.list.Why}
	f.hold(it, &row)
	return f.queue(row)
}

// hold makes a row wait for the end of its group's back-off.
func (f *folding) hold(it *item, row *schema.FrontierRow) {
	until := f.retryAt[f.groupKey(it.key)]
	if until > f.now && until > row.Due {
		row.Due, row.Why = until, schema.WhyBackoff
	}
}

// count counts what became of a URL of the round.
func (f *folding) count(reason schema.Reason) {
	policy, _ := schema.PolicyOf(reason)
	f.end.Counts["selected"]++
	f.end.Counts["reason_"+policy.Reason]++
	switch {
	case !policy.Final:
		f.end.Counts["untouched"]++
	case policy.Status == schema.Completed:
		f.end.Counts["fetched"]++
	case refuses(policy.Reason):
		f.end.Counts["refused"]++
	default:
		f.end.Counts["failed"]++
	}
}

// refuses says whether a reason is a decision of ours, made without asking.
func refuses(reason schema.Reason) bool {
	switch reason {
	case schema.RobotsDenied, schema.RobotsUnreachable, schema.RobotsUntil, schema.OutOfScope,
		schema.RuleOut, schema.Trap, schema.Blocked:
		return true
	}
	return false
}
