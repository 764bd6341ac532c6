package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"seine/formats/scope"
	"seine/formats/weburl"
)

// key is the column that says what a sheet is for.
const key = "for"

const (
	faultsShown = 10
	// MaxBytes bounds a file of sheets, as it is given and as it is kept.
	MaxBytes = 1 << 30
	heading  = "seine sheets 1"
)

// Builder gathers sheets and their faults. Suffixes and ByHost, the setting
// group_by_host, say what a politeness group is: what is about a group as a whole
// cannot be set for less than one.
type Builder struct {
	Suffixes *weburl.Suffixes
	ByHost   bool

	sheets []line
	index  map[string]int // of the distinct settings, encoded
	sets   []string
	lines  map[string]int // where a sheet's name stood
	faults []error
	bad    int

	columns []string // of a table
	cells   []Cell
}

// line is a sheet as it is kept.
type line struct {
	set, number int
	what        string
}

// Cell is a column's name and a value's text.
type Cell struct{ Name, Text string }

// Add takes a row of a person's table in: number is its line there. Cells without
// text set nothing.
func (b *Builder) Add(number int, cells []Cell) {
	if err := b.add(number, cells); err != nil {
		b.fault(number, err)
	}
}

func (b *Builder) fault(number int, err error) {
	if b.bad++; b.bad <= faultsShown {
		b.faults = append(b.faults, fmt.Errorf("line %d: %w", number, err))
	}
}

func (b *Builder) add(number int, cells []Cell) error {
	var v Values
	what := ""
	for _, c := range cells {
		text := strings.TrimSpace(c.Text)
		if text == "" {
			continue
		}
		if c.Name == key {
			what = text
			continue
		}
		f := slices.Index(column[:], c.Name)
		if f < 0 {
			return fmt.Errorf("%q is nothing that a sheet sets: use %s", c.Name, Columns())
		}
		if err := v.setField(Field(f), text); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	if what == "" {
		return fmt.Errorf("no %q: name a DOMAIN, host:HOST or HOST/PATH", key)
	}
	what, err := scope.ParsePlace(what)
	if err != nil {
		return err
	}
	if err := v.check(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := b.whole(what, &v); err != nil {
		return err
	}
	if b.lines == nil {
		b.lines, b.index = map[string]int{}, map[string]int{}
	}
	if before, twice := b.lines[what]; twice {
		return fmt.Errorf("%s has a sheet on line %d already", what, before)
	}
	b.lines[what] = number
	text := v.encode()
	set, ok := b.index[text]
	if !ok {
		set = len(b.sets)
		b.index[text] = set
		b.sets = append(b.sets, text)
	}
	b.sheets = append(b.sheets, line{set, number, what})
	return nil
}

// whole refuses to set for a part of a politeness group what is about all of it.
func (b *Builder) whole(what string, v *Values) error {
	kind, name, _ := strings.Cut(what, ":")
	var hint string
	switch {
	case kind == scope.KindPrefix:
		hint = "not for a prefix"
	case b.ByHost:
		return nil
	default:
		domain := b.Suffixes.Domain(name)
		if kind == scope.KindDomain && !strings.HasSuffix(name, "."+domain) {
			return nil
		}
		hint = fmt.Sprintf("set it for %s, or set group_by_host=true", domain)
	}
	for f := range fields {
		if v.Has(f) && f.ofGroup() {
			return fmt.Errorf("%s: %s is about all requests to a domain: %s", what, f, hint)
		}
	}
	return nil
}

// Head takes the names of a table's columns, before AddRow.
func (b *Builder) Head(names []string) error {
	b.columns = slices.Clone(names)
	return checkColumns(names)
}

// AddRow takes a row of the table in whose columns were named.
func (b *Builder) AddRow(number int, texts []string) error {
	b.cells = b.cells[:0]
	for i, text := range texts {
		b.cells = append(b.cells, Cell{b.columns[i], text})
	}
	b.Add(number, b.cells)
	return nil
}

// Columns are the names of all that a sheet can set.
func Columns() string { return strings.Join(column[:], ", ") }

// Encode gives the sheets as they are kept, and how many there are. The error names
// the first bad lines.
func (b *Builder) Encode() (text []byte, count int, err error) {
	if b.bad > faultsShown {
		b.faults = append(b.faults, fmt.Errorf("and %d more bad lines", b.bad-faultsShown))
	}
	if len(b.faults) > 0 {
		return nil, 0, errors.Join(b.faults...)
	}
	if len(b.sheets) == 0 {
		return nil, 0, errors.New("it has no sheet")
	}
	var out bytes.Buffer
	fmt.Fprintln(&out, heading)
	for _, set := range b.sets {
		fmt.Fprintf(&out, "=\t%s\n", set)
	}
	for _, s := range b.sheets {
		fmt.Fprintf(&out, "%d\t%d\t%s\n", s.set, s.number, s.what)
	}
	if out.Len() > MaxBytes {
		return nil, 0, errors.New("the sheets are larger than 1 GiB")
	}
	return out.Bytes(), len(b.sheets), nil
}
