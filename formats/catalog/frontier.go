package catalog

import (
	"fmt"
	"strings"

	"seine/formats/layout"
	"seine/formats/schema"
)

// frontier is the view of the rows that wait: those behind the cursors whose
// ticket is their URL's.
func (c *catalog) frontier() string {
	columns := columnsOf(rowFrontier)
	items := []string{}
	for _, col := range columns {
		items = append(items, col.item("f"))
		if col.name == "url" {
			items = append(items, md5ID("f"))
		}
	}
	items = append(items, "f.queue")
	var parts []string
	for _, kind := range []string{schema.Waiting, schema.Ready} {
		if part := c.queue(kind); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 || c.whole(schema.URLs) == "" {
		return empty(append(columns[:3:3], append([]column{{name: "url_id", typ: "UUID"}},
			append(columns[3:], column{name: "queue", typ: "VARCHAR"})...)...))
	}
	return "SELECT " + wrap(items) + "\nFROM (" + strings.Join(parts, "\n  UNION ALL ") +
		") AS f\nSEMI JOIN urls AS u ON u.url = f.url AND u.queued = f.ticket"
}

// queue is the rows of one kind that are not consumed, "" if there is none.
func (c *catalog) queue(kind string) string {
	var keys []layout.Key
	var consumed []string
	for _, r := range c.m.Frontier {
		if r.Kind != kind {
			continue
		}
		for _, o := range r.Objects {
			if o.Left() == 0 {
				continue
			}
			keys = append(keys, o.Key)
			row := int64(0)
			for i, n := range o.Counts {
				if i < len(o.Cursor) && o.Cursor[i] > 0 {
					consumed = append(consumed, fmt.Sprintf("(%s, %d, %d)", text(c.path(o.Key)),
						int(o.Range.Lo)+i, row+o.Cursor[i]))
				}
				row += n
			}
		}
	}
	if len(keys) == 0 {
		return ""
	}
	sql := "SELECT r.*, " + text(kind) + " AS queue FROM " + c.read(keys, true) + " AS r"
	if len(consumed) > 0 {
		sql += "\n  LEFT JOIN (VALUES\n    " + strings.Join(consumed, ",\n    ") +
			") AS k(file_name, partition, row_number)\n" +
			"    ON k.file_name = r.filename AND k.partition = r.partition\n" +
			"  WHERE k.row_number IS NULL OR r.file_row_number >= k.row_number"
	}
	return sql
}
