package catalog

import (
	"fmt"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
)

// md5ID is the url_id of the URL of relation r: its MD5, as schema.Page has it.
func md5ID(r string) string { return "CAST(md5(" + r + ".url) AS UUID) AS url_id" }

// run is the view of a table of sorted runs without deltas.
func (c *catalog) run(table string, t row) string {
	columns := columnsOf(t)
	whole := c.whole(table)
	if whole == "" {
		return empty(columns)
	}
	if more := lacking(table, t); more != "" {
		whole = "(SELECT * FROM " + whole + "\n  UNION ALL BY NAME " + more + ")"
	}
	items := make([]string, len(columns))
	for i, col := range columns {
		items[i] = col.item("t")
	}
	return "SELECT " + wrap(items) + "\nFROM " + whole + " AS t"
}

// objects are a table's objects that hold rows, oldest run first.
func (c *catalog) objects(table string) (all []lsm.Object) {
	for _, r := range c.m.Tables[table] {
		for _, o := range r.Objects {
			if o.Rows > 0 {
				all = append(all, o)
			}
		}
	}
	return all
}

func keysOf(objects []lsm.Object) []layout.Key {
	keys := make([]layout.Key, len(objects))
	for i, o := range objects {
		keys[i] = o.Key
	}
	return keys
}

// whole is the relation of a table's whole rows that count, "" if it has no
// object. Objects without deltas are read apart: of these nothing is read but the
// columns asked for, and to count their rows none.
func (c *catalog) whole(table string) string {
	var pure, mixed []layout.Key
	for _, o := range c.objects(table) {
		switch {
		case o.Deltas == 0:
			pure = append(pure, o.Key)
		case o.Deltas < o.Rows:
			mixed = append(mixed, o.Key)
		}
	}
	if len(pure)+len(mixed) == 0 {
		return ""
	}
	superseded := c.superseded(table, slices.Concat(pure, mixed))
	var parts []string
	if len(pure) > 0 {
		parts = append(parts, "SELECT * FROM "+c.read(pure, superseded != ""))
	}
	if len(mixed) > 0 {
		parts = append(parts, "SELECT * FROM "+c.read(mixed, superseded != "")+"\n  WHERE NOT delta")
	}
	rows := "(" + strings.Join(parts, "\n  UNION ALL BY NAME ") + ")"
	if superseded == "" {
		return rows
	}
	return "(SELECT * FROM " + rows + " AS r\n  ANTI JOIN " + superseded +
		" AS s\n    ON s.file_name = r.filename AND s.row_number = r.file_row_number)"
}

// superseded is the relation (file_name, row_number) of the rows of some objects
// of a table that count no more; "" if there can be none.
func (c *catalog) superseded(table string, keys []layout.Key) string {
	of := map[layout.Key]bool{}
	for _, key := range keys {
		of[key] = true
	}
	var lists, older []layout.Key
	var names []string
	for _, r := range c.m.Tables[table] {
		for _, o := range r.Objects {
			if o.Superseded != "" && o.SupersededRows > 0 && len(older) > 0 {
				lists = append(lists, o.Superseded)
			}
		}
		for _, o := range r.Objects {
			if o.Rows > 0 && of[o.Key] {
				older = append(older, o.Key)
			}
		}
	}
	if len(lists) == 0 {
		return ""
	}
	for _, key := range older {
		names = append(names, "\n      ("+text(key)+", "+text(c.path(key))+")")
	}
	return "(SELECT n.file_name, l.row AS row_number FROM " + c.read(lists, false) +
		" AS l\n    JOIN (VALUES" + strings.Join(names, ",") + ") AS n(object, file_name) USING (object))"
}

// urls is the view of the table urls: whole rows, with their deltas added if
// folded is set.
func (c *catalog) urls(folded bool) string {
	columns := columnsOf(rowURL)
	whole := c.whole(schema.URLs)
	if whole == "" {
		return empty(append(columns[:3:3], append([]column{{name: "url_id", typ: "UUID"}}, columns[3:]...)...))
	}
	changes := ""
	if folded {
		changes = c.changes()
	}
	var items []string
	for _, col := range columns {
		item := col.item("u")
		if changes != "" {
			item = changed(col, item, len(c.open.Lists) > 0)
		}
		items = append(items, item)
		if col.name == "url" {
			items = append(items, md5ID("u"))
		}
	}
	sql := "SELECT " + wrap(items) + "\nFROM " + whole + " AS u"
	if changes != "" {
		sql += "\nLEFT JOIN " + changes + " AS d ON d.url = u.url"
	}
	return sql
}

// changed is the item of a column of urls that rows of relation d change.
func changed(col column, item string, open bool) string {
	switch col.name {
	case "inlinks":
		return "coalesce(u.inlinks, 0) + coalesce(d.inlinks, 0) AS inlinks"
	case "depth":
		return "least(u.depth, d.depth) AS depth"
	case "priority", "queued", "queued_rank":
		return fmt.Sprintf("CASE WHEN d.queue IS NULL THEN u.%[1]s ELSE d.queue.%[1]s END AS %[1]s", col.name)
	case "crawl_status":
		if open {
			return "CASE WHEN d.listed THEN " + text(schema.InProgress) + " ELSE u.crawl_status END AS crawl_status"
		}
	}
	return item
}

// changes is the relation of what deltas and open lists change, one row a URL; ""
// if nothing does.
func (c *catalog) changes() string {
	var parts []string
	for _, r := range c.m.Tables[schema.URLs] {
		var keys []layout.Key
		for _, o := range r.Objects {
			if o.Deltas > 0 {
				keys = append(keys, o.Key)
			}
		}
		if len(keys) == 0 {
			continue
		}
		superseded := c.superseded(schema.URLs, keys)
		from := c.read(keys, superseded != "")
		if superseded != "" {
			from += " AS r\n  ANTI JOIN " + superseded + " AS s\n    ON s.file_name = r.filename AND s.row_number = r.file_row_number"
		}
		parts = append(parts, fmt.Sprintf("SELECT url, inlinks, depth, queued, queued_rank, priority, %d AS seq, "+
			"false AS listed\n  FROM %s\n  WHERE delta", r.Seq, from))
	}
	if len(c.open.Lists) > 0 {
		parts = append(parts, "SELECT url, NULL AS inlinks, NULL AS depth, NULL AS queued, NULL AS queued_rank, "+
			"NULL AS priority,\n    NULL AS seq, true AS listed\n  FROM "+c.read(keysOf(c.open.Lists), false))
	}
	if len(parts) == 0 {
		return ""
	}
	return "(SELECT url, sum(inlinks)::BIGINT AS inlinks, min(depth)::INTEGER AS depth,\n" +
		"    arg_max(struct_pack(queued := queued::BIGINT, queued_rank := queued_rank::BIGINT, " +
		"priority := priority::FLOAT), seq)\n      FILTER (WHERE queued IS NOT NULL) AS queue, bool_or(listed) AS listed\n" +
		"  FROM (" + strings.Join(parts, "\n  UNION ALL ") + ")\n  GROUP BY url)"
}
