package sheet

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ReadCSV adds the rows of a CSV file, whose first row names the columns.
func (b *Builder) ReadCSV(r io.Reader) error {
	in := csv.NewReader(r)
	in.ReuseRecord, in.Comment, in.TrimLeadingSpace = true, '#', true
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("no CSV: %w", err)
	}
	names := make([]string, len(head))
	for i, name := range head {
		names[i] = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
	}
	if err := b.Head(names); err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	for {
		row, err := in.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &wrong):
			b.fault(wrong.StartLine, wrong.Err)
			if !errors.Is(wrong.Err, csv.ErrFieldCount) {
				return nil // what follows a broken quote is anything
			}
			continue
		case err != nil:
			return err
		}
		number, _ := in.FieldPos(0)
		if err := b.AddRow(number, row); err != nil {
			return err
		}
	}
}

// checkColumns refuses a table with columns that say nothing.
func checkColumns(names []string) error {
	var faults []error
	for i, name := range names {
		switch {
		case name != key && !slices.Contains(column[:], name):
			faults = append(faults, fmt.Errorf("column %q is nothing that a sheet sets: use %s, %s", name, key,
				Columns()))
		case slices.Contains(names[:i], name):
			faults = append(faults, fmt.Errorf("column %q stands there twice", name))
		}
	}
	if !slices.Contains(names, key) {
		faults = append(faults, fmt.Errorf("no column %q: it says what a sheet is for", key))
	}
	return errors.Join(faults...)
}

// yamlMost bounds a YAML file: its tree takes some fifty times as much memory.
const yamlMost = 16 << 20

// ReadYAML adds the sheets of a YAML file: a list of mappings.
func (b *Builder) ReadYAML(r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, yamlMost+1))
	if err != nil {
		return err
	}
	if len(text) > yamlMost {
		return errors.New("it is larger than 16 MiB: write so many sheets as CSV or Parquet")
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(root.Content) == 0 {
		return nil
	}
	items := root.Content[0]
	if items.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: write a list of sheets, each beginning \"- %s: …\"", items.Line, key)
	}
	for _, item := range items.Content {
		cells, err := yamlCells(item)
		if err != nil {
			b.fault(item.Line, err)
			continue
		}
		b.Add(item.Line, cells)
	}
	return nil
}

func yamlCells(item *yaml.Node) (cells []Cell, err error) {
	if item.Kind != yaml.MappingNode {
		return nil, errors.New("a sheet is a mapping of names to values")
	}
	for i := 0; i+1 < len(item.Content); i += 2 {
		name, value := item.Content[i].Value, item.Content[i+1]
		if slices.ContainsFunc(cells, func(c Cell) bool { return c.Name == name }) {
			return nil, fmt.Errorf("%q stands there twice", name)
		}
		text, err := yamlText(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		cells = append(cells, Cell{name, text})
	}
	return cells, nil
}

// yamlText is a value as a cell has it: a list as an array, a mapping as an array of
// "name: value".
func yamlText(n *yaml.Node) (string, error) {
	var parts []string
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "", nil
		}
		return n.Value, nil
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return "", fmt.Errorf("line %d: a list of texts is wanted", c.Line)
			}
			parts = append(parts, c.Value)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i+1].Kind != yaml.ScalarNode {
				return "", fmt.Errorf("line %d: a text is wanted", n.Content[i+1].Line)
			}
			parts = append(parts, n.Content[i].Value+": "+n.Content[i+1].Value)
		}
	default:
		return "", errors.New("write the value out: no aliases")
	}
	text, err := json.Marshal(parts)
	return string(text), err
}
