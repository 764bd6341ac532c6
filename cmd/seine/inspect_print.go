package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// pair and pairs are a JSON object whose fields keep their order.
type pair struct {
	name  string
	value any
}

type pairs []pair

// MarshalJSON implements json.Marshaler.
func (p pairs) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := jsonText(f.name)
		if err != nil {
			return nil, err
		}
		value, err := jsonText(f.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// jsonText is JSON without the escapes that are for HTML.
func jsonText(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// printer prints rows of plain values as they come.
type printer interface {
	row(values []any) error
	finish() error
}

func newPrinter(format string, out io.Writer, names []string) printer {
	switch format {
	case "csv":
		return &csvPrinter{w: csv.NewWriter(out), names: names}
	case "json":
		return &jsonPrinter{out, names}
	}
	return &tablePrinter{out: out, names: names}
}

// csvPrinter prints RFC 4180; null is an empty field, lists and objects are JSON.
type csvPrinter struct {
	w     *csv.Writer
	names []string
	begun bool
}

func (p *csvPrinter) row(values []any) error {
	if err := p.begin(); err != nil {
		return err
	}
	cells := make([]string, len(values))
	for i, v := range values {
		if v != nil {
			cells[i] = cellText(v)
		}
	}
	return p.w.Write(cells)
}

func (p *csvPrinter) begin() error {
	if p.begun {
		return nil
	}
	p.begun = true
	return p.w.Write(p.names)
}

func (p *csvPrinter) finish() error {
	if err := p.begin(); err != nil {
		return err
	}
	p.w.Flush()
	return p.w.Error()
}

// jsonPrinter prints an object a line.
type jsonPrinter struct {
	out   io.Writer
	names []string
}

func (p *jsonPrinter) row(values []any) error {
	o := make(pairs, len(values))
	for i, v := range values {
		o[i] = pair{p.names[i], v}
	}
	line, err := jsonText(o)
	if err != nil {
		return fmt.Errorf("row as JSON: %w", err)
	}
	_, err = p.out.Write(append(line, '\n'))
	return err
}

func (p *jsonPrinter) finish() error { return nil }

const (
	tableSample = 200 // rows that decide the widths of a table's columns
	tableCell   = 100 // characters of a cell that a table shows
)

// tablePrinter prints aligned columns. Widths are those of the first rows; what
// is longer pushes its line.
type tablePrinter struct {
	out    io.Writer
	names  []string
	held   [][]string
	right  []bool // columns of numbers
	widths []int  // nil: not yet decided
	rows   int64
}

func (p *tablePrinter) row(values []any) error {
	cells := make([]string, len(values))
	if p.right == nil {
		p.right = make([]bool, len(values))
		for i := range p.right {
			p.right[i] = true
		}
	}
	for i, v := range values {
		switch v.(type) {
		case nil:
			cells[i] = "NULL"
			continue
		case string, bool, pairs, []any:
			p.right[i] = false
		}
		cells[i] = shortText(cellText(v))
	}
	p.rows++
	if p.widths != nil {
		return p.line(cells)
	}
	p.held = append(p.held, cells)
	if len(p.held) < tableSample {
		return nil
	}
	return p.flush()
}

// shortText is a cell on one line.
func shortText(s string) string {
	s = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
	if utf8.RuneCountInString(s) <= tableCell {
		return s
	}
	return string([]rune(s)[:tableCell-1]) + "…"
}

func (p *tablePrinter) flush() error {
	p.widths = make([]int, len(p.names))
	for _, cells := range append([][]string{p.names}, p.held...) {
		for i, c := range cells {
			p.widths[i] = max(p.widths[i], utf8.RuneCountInString(c))
		}
	}
	rule := make([]string, len(p.names))
	for i, w := range p.widths {
		rule[i] = strings.Repeat("-", w)
	}
	for _, cells := range append([][]string{p.names, rule}, p.held...) {
		if err := p.line(cells); err != nil {
			return err
		}
	}
	p.held = nil
	return nil
}

func (p *tablePrinter) line(cells []string) error {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", max(p.widths[i]-utf8.RuneCountInString(c), 0))
		if p.right != nil && p.right[i] {
			b.WriteString(pad + c)
		} else {
			b.WriteString(c + pad)
		}
	}
	_, err := io.WriteString(p.out, strings.TrimRight(b.String(), " ")+"\n")
	return err
}

func (p *tablePrinter) finish() error {
	if p.widths == nil {
		if err := p.flush(); err != nil {
			return err
		}
	}
	word := "rows"
	if p.rows == 1 {
		word = "row"
	}
	_, err := fmt.Fprintf(p.out, "(%d %s)\n", p.rows, word)
	return err
}

// cellText is a value as a cell: strings bare, the rest as JSON.
func cellText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return "NULL"
	case json.Number:
		return v.String()
	}
	b, err := jsonText(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
