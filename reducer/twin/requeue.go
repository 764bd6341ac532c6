package twin

import (
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
	"seine/reducer/task"
)

// Requeue makes the known ones of some URLs wait again, as a requeue job does,
// and returns the queue rows of the job.
func (w *World) Requeue(spec jobs.Spec, s settings.Settings, targets []lsm.Key) []schema.FrontierRow {
	var queued []schema.FrontierRow
	due := spec.Requeue.Due
	if due < spec.Now {
		due = spec.Now
	}
	done := map[lsm.Key]bool{}
	for _, key := range targets {
		row, known := w.URLs[key]
		if !known || done[key] {
			continue
		}
		done[key] = true
		decided := row.Reason == schema.OutOfScope || row.Reason == schema.RuleOut ||
			row.Reason == schema.Trap || row.Reason == schema.Blocked || row.Reason == schema.DomainFull
		if decided && row.Queued == 0 {
			if row.CrawlStatus == schema.Failed || row.Reason == schema.DomainFull {
				w.revive(spec, s, &row)
			}
			row.CrawlStatus, row.Reason = schema.Pending, ""
		}
		row.FailCount, row.NextCrawl, row.Why = 0, due, schema.WhyNew
		if row.LastCrawled != 0 {
			row.Why = schema.WhyRecrawl
		}
		if spec.Requeue.Priority != nil {
			row.Priority = *spec.Requeue.Priority
		}
		row.Queued, row.QueuedRank = int64(spec.Job), task.Rank(row.Priority, due)
		row.Round = int64(spec.Job)
		w.PutURL(row)
		queued = append(queued, schema.FrontierRow{Partition: row.Partition, Domain: row.Domain,
			Host: row.Host, URL: row.URL, Priority: row.Priority, Depth: row.Depth, Due: due,
			Rank: row.QueuedRank, Ticket: row.Queued, Why: row.Why})
	}
	return queued
}

// revive counts a failed URL of a group as pending, one kept back as outstanding.
func (w *World) revive(spec jobs.Spec, s settings.Settings, url *schema.URL) {
	host := ""
	if s.GroupByHost {
		host = url.Host
	}
	row, ok := w.Domains[Key(url.Partition, url.Domain, host, "")]
	if !ok {
		return
	}
	if url.CrawlStatus == schema.Failed {
		row.Pending, row.Failed = row.Pending+1, row.Failed-1
	}
	if url.Reason == schema.DomainFull {
		row.Held--
	}
	row.Round = int64(spec.Job)
	w.PutDomain(row)
}
