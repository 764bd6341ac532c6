package catalog

import (
	"reflect"
	"slices"
	"strings"

	"seine/formats/schema"
)

// row is the row struct of a table.
type row = reflect.Type

// The row structs, by reflection: names and types of the columns.
var (
	rowURL        = reflect.TypeFor[schema.URL]()
	rowDomain     = reflect.TypeFor[schema.Domain]()
	rowHost       = reflect.TypeFor[schema.Host]()
	rowRobots     = reflect.TypeFor[schema.Robots]()
	rowFrontier   = reflect.TypeFor[schema.FrontierRow]()
	rowList       = reflect.TypeFor[schema.List]()
	rowPage       = reflect.TypeFor[schema.Page]()
	rowFetch      = reflect.TypeFor[schema.Fetch]()
	rowLink       = reflect.TypeFor[schema.Link]()
	rowSeed       = reflect.TypeFor[schema.Seed]()
	rowDeadLetter = reflect.TypeFor[schema.DeadLetter]()
	rowRound      = reflect.TypeFor[schema.RoundRow]()
)

// column is a column of a table as DuckDB sees it.
type column struct {
	name, typ string
	// count marks numbers whose zero is stored as null and means zero.
	count bool
}

// internal are columns that views leave out: how rows are kept, not what they say.
var internal = map[string]bool{"partition": true, "delta": true}

// counts are the optional numbers that count: null is none.
var counts = map[string]bool{"crawl_count": true, "fail_count": true, "visits": true, "changes": true,
	"inlinks": true, "error_count": true, "backoffs": true, "near_duplicates": true, "failures": true,
	"held": true, "asked": true}

// gained are the columns of a table that older stores of the same format lack:
// there may be no object that has them.
var gained = map[string][]string{schema.Domains: {"held", "asked_day", "asked"},
	schema.Fetches: {"source_ip"},
	schema.Seeds:   {"interval_ms", "depth", "scope", "removed"}}

// lacking is a SELECT without rows of the columns that a table has gained; "" if
// it has gained none.
func lacking(table string, t row) string {
	var columns []column
	for _, c := range columnsOf(t) {
		if slices.Contains(gained[table], c.name) {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return ""
	}
	return empty(columns)
}

// columnsOf gives the columns of a row struct, in its order.
func columnsOf(t row) []column {
	var out []column
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if internal[name] {
			continue
		}
		out = append(out, column{name, typeOf(f.Type, options), counts[name]})
	}
	return out
}

// typeOf is DuckDB's type of a field.
func typeOf(t reflect.Type, options string) string {
	switch {
	case strings.Contains(options, "timestamp("):
		return "TIMESTAMP WITH TIME ZONE"
	case strings.Contains(options, "uuid"):
		return "UUID"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "BOOLEAN"
	case reflect.Int32:
		return "INTEGER"
	case reflect.Int64:
		return "BIGINT"
	case reflect.Uint32:
		return "UINTEGER"
	case reflect.Uint64:
		return "UBIGINT"
	case reflect.Float32:
		return "FLOAT"
	case reflect.Float64:
		return "DOUBLE"
	case reflect.Slice:
		return typeOf(t.Elem(), "") + "[]"
	case reflect.Map:
		return "MAP(" + typeOf(t.Key(), "") + ", " + typeOf(t.Elem(), "") + ")"
	}
	return "VARCHAR"
}

// expression reads the column of relation r.
func (c column) expression(r string) string {
	if c.count {
		return "coalesce(" + r + "." + identifier(c.name) + ", 0)::" + c.typ
	}
	return r + "." + identifier(c.name)
}

// item is the expression as an item of a SELECT.
func (c column) item(r string) string {
	if e := c.expression(r); e != r+"."+identifier(c.name) {
		return e + " AS " + identifier(c.name)
	}
	return c.expression(r)
}

// empty is a SELECT without rows that has the columns.
func empty(columns []column) string {
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = "CAST(NULL AS " + c.typ + ") AS " + identifier(c.name)
	}
	return "SELECT " + wrap(items) + "\nWHERE false"
}

// wrap joins items by commas into lines of at most some 90 columns.
func wrap(items []string) string {
	var b strings.Builder
	line := 7
	for i, item := range items {
		if i > 0 {
			b.WriteString(",")
			if line+len(item) > 88 {
				b.WriteString("\n  ")
				line = 2
			} else {
				b.WriteString(" ")
			}
		}
		b.WriteString(item)
		line += len(item) + 2
	}
	return b.String()
}
