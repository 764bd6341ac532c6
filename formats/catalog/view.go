package catalog

import (
	"fmt"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/tasklog"
)

// View is one view. Later ones may use earlier ones.
type View struct {
	Name string
	SQL  string // a SELECT statement
	Doc  string // one line: what a row is
}

// Create is the statement that makes the view.
func (v View) Create() string {
	return "-- " + v.Doc + "\nCREATE OR REPLACE VIEW " + identifier(v.Name) + " AS\n" + v.SQL + ";\n"
}

// OpenRounds is what rounds that have not committed have in the store already.
type OpenRounds struct {
	Lists  []lsm.Object     // chosen by generate: objects of schema.List
	Chunks []tasklog.Object // of sealed chunks, all kinds
}

// Views are the views over a snapshot, in an order in which they can be created.
// open may be nil. path gives the name under which DuckDB finds an object, such
// as a file's absolute path.
func Views(m *lsm.Manifest, open *OpenRounds, path func(layout.Key) string) []View {
	if open == nil {
		open = &OpenRounds{}
	}
	c := &catalog{m: m, open: open, path: path}
	views := []View{
		{schema.URLs, c.urls(true), "A known URL and its state; counts of links are an estimate until rank."},
		{schema.Domains, c.run(schema.Domains, rowDomain), "A politeness group: the delay in force, and counts."},
		{schema.Hosts, c.run(schema.Hosts, rowHost), "A host: counts and latency."},
		{schema.RobotsT, c.run(schema.RobotsT, rowRobots), "The robots.txt of an authority (scheme, host, port)."},
		{"domain", domainSQL, "A registered domain with the robots.txt of its main host."},
		{schema.Frontier, c.frontier(), "A URL that waits, with the place in the order: live rows only."},
	}
	for _, t := range appended {
		views = append(views, View{t.name, c.append(t), t.doc})
	}
	return append(views,
		View{"links_current", linksCurrentSQL, "The links of each page's newest version."},
		View{"cc_index", ccIndexSQL, "Each archived response, with the columns and types of Common Crawl's index."},
		View{"open_pages", c.opened(tasklog.Pages, rowPage), "Pages in the sealed chunks of the running round."},
		View{"open_fetches", c.opened(tasklog.Fetches, rowFetch), "Fetches in the sealed chunks of the running round."},
		View{"open_links", c.opened(tasklog.Links, rowLink), "Links in the sealed chunks of the running round."},
		View{"files", c.files(), "An object of the snapshot that holds rows, or a WARC file."},
	)
}

// Folded are the columns of the view urls that deltas, or lists of an open round,
// change.
func Folded() []string {
	return []string{"inlinks", "depth", "priority", "queued", "queued_rank", "crawl_status"}
}

// Unfolded is the view urls for statements that ask for none of the columns
// Folded: the same rows, without the join that adds deltas. The package comment
// says what for.
func Unfolded(m *lsm.Manifest, path func(layout.Key) string) View {
	c := &catalog{m: m, open: &OpenRounds{}, path: path}
	return View{schema.URLs, c.urls(false), "A known URL, without what deltas add."}
}

// SQL is a script of all views.
func SQL(m *lsm.Manifest, views []View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- Views over snapshot %d, for DuckDB 1.3 or newer.\n", m.N)
	for _, v := range views {
		b.WriteString("\n" + v.Create())
	}
	return b.String()
}

// catalog is what the texts are made from.
type catalog struct {
	m    *lsm.Manifest
	open *OpenRounds
	path func(layout.Key) string
}

// identifier quotes a name where it needs it.
func identifier(s string) string {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// text is a string literal.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// literalPath is a path as a literal of read_parquet, which expands *, ? and [.
func literalPath(s string) string {
	if strings.ContainsAny(s, "*?[") {
		s = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(s)
	}
	return text(s)
}

// read is a scan of objects; places adds each row's file and number in it.
func (c *catalog) read(keys []layout.Key, places bool) string {
	var b strings.Builder
	b.WriteString("read_parquet([")
	for i, key := range keys {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n    " + literalPath(c.path(key)))
	}
	b.WriteString("]")
	if len(keys) > 1 {
		b.WriteString(", union_by_name = true")
	}
	if places {
		b.WriteString(", filename = true, file_row_number = true")
	}
	b.WriteString(", hive_partitioning = false)")
	return b.String()
}
