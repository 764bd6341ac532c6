package generate

import (
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/reducer/task"
)

// tables are the readers of the tables that popped rows are joined with, their
// objects open from batch to batch. Each reads only the columns that generate
// needs.
type tables struct {
	urls    *lsm.Reader[schema.URL]
	twins   *lsm.Reader[schema.URL] // of URLs, at the other scheme
	domains *lsm.Reader[schema.Domain]
	hosts   *lsm.Reader[schema.Host]
	robots  *lsm.Reader[schema.Robots]
}

// wanted is about how many URLs the round takes.
func openTables(e task.Env, m *lsm.Manifest, s settings.Settings, wanted int64) *tables {
	judged := []string{"depth", "queued"}
	listed := []string{"etag", "last_modified", "content_hash", "simhash", "crawl_count", "fail_count",
		"last_crawled", "html_blob_path", "blob_offset", "blob_length"}
	// Terms decide also over what its group keeps waiting, of which no more is read.
	if len(s.Terms) > 0 {
		judged = append(judged, "seed")
	} else {
		listed = append(listed, "seed")
	}
	return &tables{
		urls: lsm.URLs().NewReader(e.Opener(wanted, m.Known), m.Tables[schema.URLs], lsm.LookupOptions{
			Columns: judged, More: listed, Stats: e.Stats}),
		twins: lsm.URLs().NewReader(e.Opener(wanted, m.Known), m.Tables[schema.URLs], lsm.LookupOptions{
			Columns: []string{"reason", "queued"}, Stats: e.Stats}),
		domains: lsm.Domains().NewReader(e.Open, m.Tables[schema.Domains], lsm.LookupOptions{
			Columns: []string{"crawl_delay_ms", "backoff_until", "next_slot", "pages",
				"near_duplicates", "asked_day", "asked"}, Stats: e.Stats}),
		hosts: lsm.Hosts().NewReader(e.Open, m.Tables[schema.Hosts], lsm.LookupOptions{
			Columns: []string{"latency_ms"}, Stats: e.Stats}),
		robots: lsm.RobotsTable().NewReader(e.Open, m.Tables[schema.RobotsT], lsm.LookupOptions{
			Columns: []string{"status", "robots_txt", "expires"}, Stats: e.Stats}),
	}
}

func (t *tables) close() {
	t.urls.Close()
	t.twins.Close()
	t.domains.Close()
	t.hosts.Close()
	t.robots.Close()
}
