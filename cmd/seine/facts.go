package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// fact is one column of a row as it is printed.
type fact struct {
	name  string
	value any // for JSON
	text  string
}

// factsOf are the columns of a table's row that say something, under their
// names in the table.
func factsOf(row any) []fact {
	v := reflect.Indirect(reflect.ValueOf(row))
	var facts []fact
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("parquet")
		name, options, _ := strings.Cut(tag, ",")
		if name == "" || v.Field(i).IsZero() {
			continue
		}
		facts = append(facts, factOf(name, options, v.Field(i)))
	}
	return facts
}

func factOf(name, options string, v reflect.Value) fact {
	f := fact{name: name, value: v.Interface()}
	switch {
	case strings.Contains(options, "timestamp"):
		t := time.UnixMilli(v.Int()).UTC()
		f.value, f.text = t.Format("2006-01-02T15:04:05.000Z"), t.Format("2006-01-02 15:04:05Z")
	case strings.HasSuffix(name, "_ms") && v.CanInt():
		f.text = (time.Duration(v.Int()) * time.Millisecond).String()
	case v.Kind() == reflect.Uint64: // hashes: JSON numbers would lose bits
		f.text = fmt.Sprintf("%016x", v.Uint())
		f.value = f.text
	case v.Kind() == reflect.Array:
		b := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(b), v)
		f.text = hex.EncodeToString(b)
		f.value = f.text
	case v.Kind() == reflect.Float32:
		f.text = fmt.Sprintf("%.4g", v.Float())
	default:
		f.text = fmt.Sprint(v.Interface())
	}
	return f
}

// object is facts as a JSON object.
func object(facts []fact) map[string]any {
	m := make(map[string]any, len(facts))
	for _, f := range facts {
		m[f.name] = f.value
	}
	return m
}

// printFacts prints a heading and its facts, one a line.
func printFacts(w io.Writer, heading string, facts []fact, skip ...string) {
	if heading != "" {
		fmt.Fprintln(w, heading)
	}
	wide := 0
	for _, f := range facts {
		wide = max(wide, len(f.name))
	}
	for _, f := range facts {
		if !contains(skip, f.name) {
			fmt.Fprintf(w, "  %-*s  %s\n", wide, f.name, oneLine(f.text))
		}
	}
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// oneLine keeps a value that a site chose from breaking lines or the terminal.
func oneLine(s string) string {
	const most = 400
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}
