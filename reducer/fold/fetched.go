package fold

import (
	"fmt"
	"strings"

	"seine/formats/schema"
	"seine/formats/weburl"
	"seine/reducer/task"
)

// fetched writes the whole row of a URL that has its final row.
func (f *folding) fetched(it *item) error {
	policy, ok := schema.PolicyOf(it.final.Reason)
	if !ok {
		return fmt.Errorf("%s ended as %q: unknown reason", it.key.URL, it.final.Reason)
	}
	if !it.known {
		return fmt.Errorf("%s has a final row and is not in urls", it.key.URL)
	}
	f.count(it.final.Reason)
	row := it.old
	row.Round = f.job
	if it.links.any {
		row.Inlinks += it.links.inlinks
		row.Depth = min(row.Depth, it.links.depth)
	}
	change := f.visited(&row, it, policy)
	if err := f.decide(&row, it, policy, change); err != nil {
		return err
	}
	if err := f.out.urls.Write(&row); err != nil {
		return err
	}
	if err := f.out.urls.Supersede(it.refs...); err != nil {
		return err
	}
	f.tally(&it.old, &row)
	if row.Queued == 0 {
		return nil
	}
	return f.queue(task.QueueRow(&row))
}

// visited takes in what the exchange says of the URL, and says what it found:
// one of schema.Change…, or "" where nothing can be told.
func (f *folding) visited(row *schema.URL, it *item, policy schema.Policy) string {
	final := it.final
	row.Reason, row.HTTPStatus = final.Reason, final.HTTPStatus
	if policy.Status != "" {
		row.CrawlStatus = policy.Status
	}
	if row.DuplicateOf = ""; final.Reason == schema.SchemeTwin {
		row.DuplicateOf = weburl.SchemeTwin(row.URL)
	}
	switch {
	case policy.Blame:
		row.FailCount++
	case policy.Due == schema.DueInterval || policy.Due == schema.DueRarely:
		row.FailCount = 0
	}
	change := ""
	switch {
	case it.page != nil:
		change = it.page.Change
		body(row, it.page)
	case final.Reason == schema.Redirected:
		change = redirectChange(row, final)
	case policy.Due == schema.DueInterval:
		change = final.Change
	}
	if change != "" || policy.Status == schema.Completed && final.HTTPStatus != 0 {
		if row.CrawlCount > 0 && change != "" && change != schema.ChangeNew {
			row.Visits++
			row.Observed += max(final.StartedAt-row.LastCrawled, 0)
			if change == schema.ChangeChanged {
				row.Changes++
			}
		}
		row.CrawlCount++
	}
	if final.HTTPStatus != 0 {
		row.LastCrawled = final.StartedAt
	}
	return change
}

// body takes over what pages says of the newest body.
func body(row *schema.URL, page *fact) {
	row.ETag, row.LastModified = page.ETag, page.LastModified
	row.ContentHash, row.SimHash = page.ContentHash, page.SimHash
	row.CanonicalURL, row.NoIndex, row.RedirectURL = page.CanonicalURL, page.NoIndex, ""
	row.BlobPath, row.BlobOffset, row.BlobLength = page.BlobPath, page.BlobOffset, page.BlobLength
}

// redirectChange compares where a redirect leads with where the last one led.
func redirectChange(row *schema.URL, final *fact) string {
	before := row.RedirectURL
	row.RedirectURL = final.RedirectTo
	switch {
	case row.CrawlCount == 0:
		return schema.ChangeNew
	case before == final.RedirectTo:
		return schema.ChangeSame
	}
	return schema.ChangeChanged
}

// decide gives the URL its next due time, why it waits, and a ticket.
func (f *folding) decide(row *schema.URL, it *item, policy schema.Policy, change string) error {
	if policy.Due == schema.DueAgain {
		return f.waitAgain(row, it)
	}
	due, why, err := f.due(row, it, policy, change)
	if err != nil {
		return err
	}
	row.NextCrawl, row.Why = due, why
	row.Priority = f.priority(row)
	row.Queued, row.QueuedRank = f.job, task.Rank(row.Priority, due)
	if why == "" {
		row.Queued, row.QueuedRank = 0, 0
	}
	return nil
}

// priority estimates the priority of a URL that has had its turn. How much it
// looks like a trap follows from the URL alone, so that it is demoted for good.
func (f *folding) priority(row *schema.URL) float32 {
	suspicion := float32(0)
	if normal, err := weburl.Normalize(row.URL, weburl.Options{}); err == nil {
		suspicion = float32(f.traps.Decide(normal, row.Domain, int(row.Depth)).Suspicion)
	}
	return f.score(row, suspicion)
}

func (f *folding) score(row *schema.URL, suspicion float32) float32 {
	return task.Priority(f.settings, task.Facts{Depth: row.Depth, Inlinks: row.Inlinks,
		Seed: isSeed(row), HomePage: task.HomePage(row.URL), Suspicion: suspicion,
		UserSignal: row.UserSignal, Boost: task.SheetsOf(f.sheets, row.URL).Boost,
		Freshness: task.Freshness(row.LastCrawled != 0, row.Visits, row.Changes)})
}

// isSeed says whether a person named the URL: inject gives every seed a signal.
func isSeed(row *schema.URL) bool { return row.UserSignal > 0 }

// bury writes a URL that is given up into dead_letters.
func (f *folding) bury(row *schema.URL, final *fact) error {
	f.end.Counts["dead_letters"]++
	return f.out.letters.Add(schema.DeadLetter{Domain: strings.Clone(row.Domain),
		Host: strings.Clone(row.Host), URL: strings.Clone(row.URL), Round: f.job, At: f.now,
		Reason: strings.Clone(final.Reason), Detail: strings.Clone(final.Detail),
		HTTPStatus: final.HTTPStatus, FailCount: row.FailCount})
}
