package catalog

import (
	"fmt"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
)

// appendTable is a table that only grows.
type appendTable struct {
	name string
	row  row
	doc  string
}

var appended = []appendTable{
	{schema.Lists, rowList, "A URL that generate chose for a round."},
	{schema.Pages, rowPage, "A 2xx body."},
	{schema.Fetches, rowFetch, "A decision or an exchange; a URL's turn in a round ends with one final row."},
	{schema.Links, rowLink, "A link as found, with what was decided about it."},
	{schema.Seeds, rowSeed, "A seed as injected."},
	{schema.DeadLetters, rowDeadLetter, "A URL given up, with its reasons."},
	{schema.Rounds, rowRound, "A job as it ended."},
}

// parts are the objects of an append table, oldest first.
func (c *catalog) parts(table string) (all []lsm.Object) {
	for _, p := range c.m.Parts {
		for _, o := range p.Tables[table] {
			if o.Rows > 0 {
				all = append(all, o)
			}
		}
	}
	return all
}

func (c *catalog) append(t appendTable) string {
	return c.rows(keysOf(c.parts(t.name)), t.row, lacking(t.name, t.row))
}

// opened is the view of the sealed chunks' objects of a kind.
func (c *catalog) opened(kind string, t row) string {
	var keys []layout.Key
	for _, o := range c.open.Chunks {
		if o.Kind == kind && o.Rows > 0 {
			keys = append(keys, o.Key)
		}
	}
	return c.rows(keys, t, lacking(kind, t))
}

// rows selects from objects; more adds columns that the oldest of them may lack.
func (c *catalog) rows(keys []layout.Key, t row, more string) string {
	columns := columnsOf(t)
	if len(keys) == 0 {
		return empty(columns)
	}
	items := make([]string, len(columns))
	for i, col := range columns {
		items[i] = col.item("t")
	}
	from := c.read(keys, false)
	if more != "" {
		from = "(SELECT * FROM " + from + "\n  UNION ALL BY NAME " + more + ")"
	}
	return "SELECT " + wrap(items) + "\nFROM " + from + " AS t"
}

// linksCurrentSQL: a source's newest version is that of its newest page; sources
// that are no pages (redirects, sitemaps) have the newest of their links.
const linksCurrentSQL = `SELECT l.*
FROM links AS l
SEMI JOIN (SELECT url, max(round) AS round
  FROM (SELECT url, round FROM pages UNION ALL SELECT src_url, round FROM links)
  GROUP BY url) AS v ON v.url = l.src_url AND v.round = l.round`

// domainSQL is the data model's Domain. Of a domain's authorities, that of the
// domain itself stands for it, else www, else the first; https before http.
const domainSQL = `SELECT d.domain, r.robots_txt, max(d.crawl_delay_ms) / 1000.0 AS crawl_delay,
  max(d.last_accessed) AS last_accessed, sum(d.error_count)::BIGINT AS error_count
FROM domains AS d
LEFT JOIN (SELECT domain, arg_min(robots_txt,
    CASE regexp_replace(authority, '^https?://', '') WHEN domain THEN '0' WHEN 'www.' || domain THEN '1'
      ELSE '2' END || if(starts_with(authority, 'https'), '0', '1') || authority) AS robots_txt
  FROM robots GROUP BY domain) AS r ON r.domain = d.domain
GROUP BY d.domain, r.robots_txt`

// Tables are the names that Files and the command line know, in the order of the
// documentation.
func Tables() []string {
	names := []string{schema.URLs, schema.Domains, schema.Hosts, schema.RobotsT, schema.Frontier}
	for _, t := range appended {
		names = append(names, t.name)
	}
	return names
}

// Files are the keys of the objects that hold a table's rows, oldest first. For
// run tables the files hold superseded rows and deltas beside what counts. An
// unknown table has none. "warc" gives the archives.
func Files(m *lsm.Manifest, table string) []layout.Key {
	c := &catalog{m: m}
	var keys []layout.Key
	switch {
	case table == schema.WARC:
		for _, p := range m.Parts {
			for _, w := range p.WARC {
				keys = append(keys, w.Key)
			}
		}
	case table == schema.Frontier || table == schema.Waiting || table == schema.Ready:
		for _, r := range m.Frontier {
			for _, o := range r.Objects {
				if o.Left() > 0 && (table == schema.Frontier || table == r.Kind) {
					keys = append(keys, o.Key)
				}
			}
		}
	case slices.ContainsFunc(appended, func(t appendTable) bool { return t.name == table }):
		keys = keysOf(c.parts(table))
	default:
		keys = keysOf(c.objects(table))
	}
	return keys
}

// files is the view of the snapshot's objects.
func (c *catalog) files() string {
	columns := []column{{name: "table_name", typ: "VARCHAR"}, {name: "run", typ: "VARCHAR"},
		{name: "round", typ: "BIGINT"}, {name: "key", typ: "VARCHAR"}, {name: "path", typ: "VARCHAR"},
		{name: "rows", typ: "BIGINT"}, {name: "bytes", typ: "BIGINT"}, {name: "deltas", typ: "BIGINT"},
		{name: "consumed", typ: "BIGINT"}}
	var rows []string
	add := func(table, run string, round uint64, o lsm.Object, consumed int64) {
		rows = append(rows, fmt.Sprintf("(%s, %s, %d, %s, %s, %d, %d, %d, %d)", text(table), text(run), round,
			text(o.Key), text(c.path(o.Key)), o.Rows, o.Bytes, o.Deltas, consumed))
	}
	for _, table := range Tables() {
		for _, r := range c.m.Tables[table] {
			for _, o := range r.Objects {
				add(table, r.ID, r.Seq, o, 0)
			}
		}
	}
	for _, r := range c.m.Frontier {
		for _, o := range r.Objects {
			add(r.Kind, r.ID, r.Seq, o.Object, o.Rows-o.Left())
		}
	}
	for _, p := range c.m.Parts {
		for _, t := range appended {
			for _, o := range p.Tables[t.name] {
				add(t.name, "", p.Round, o, 0)
			}
		}
		for _, w := range p.WARC {
			add(schema.WARC, "", p.Round, lsm.Object{Key: w.Key, Bytes: w.Bytes}, 0)
		}
	}
	if len(rows) == 0 {
		return empty(columns)
	}
	names, items := make([]string, len(columns)), make([]string, len(columns))
	for i, col := range columns {
		names[i] = identifier(col.name)
		items[i] = names[i] + "::" + col.typ + " AS " + names[i]
	}
	return "SELECT " + wrap(items) + "\nFROM (VALUES\n  " + strings.Join(rows, ",\n  ") + ") AS f(" +
		strings.Join(names, ", ") + ")"
}
