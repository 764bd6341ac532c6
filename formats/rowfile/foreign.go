package rowfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// foreignBatch is how many rows of somebody else's file are held at once.
const foreignBatch = 512

// Texts reads a Parquet file of anybody's as texts, cell by cell, as CSV has them:
// null is "", a list of values is a JSON array of texts. columns is asked once,
// before the first row; row gets the number of a row, from 1, and its cells, which
// are valid until it returns.
func Texts(src io.ReaderAt, size int64, columns func(names []string) error,
	row func(number int, cells []string) error) (err error) {
	defer recovered(&err, "read Parquet")
	f, err := parquet.OpenFile(src, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("no Parquet file, or a damaged one: %w", err)
	}
	t, err := newTextColumns(f.Schema())
	if err != nil {
		return err
	}
	if err := columns(t.names); err != nil {
		return err
	}
	number := 0
	for _, group := range f.RowGroups() {
		if err := t.group(group, func(cells []string) error {
			number++
			return row(number, cells)
		}); err != nil {
			return err
		}
	}
	return nil
}

// textColumns are the top columns of a file, and to which each leaf belongs.
type textColumns struct {
	names  []string
	lists  []bool
	column []int // by leaf
}

func newTextColumns(s *parquet.Schema) (*textColumns, error) {
	t := &textColumns{}
	for _, path := range s.Columns() {
		leaf, _ := s.Lookup(path...)
		if slices.Contains(t.names, path[0]) {
			return nil, fmt.Errorf("column %q is a structure: only single values and lists of them "+
				"can be read", path[0])
		}
		t.column = append(t.column, len(t.names))
		t.names = append(t.names, path[0])
		t.lists = append(t.lists, leaf.MaxRepetitionLevel > 0)
	}
	return t, nil
}

func (t *textColumns) group(g parquet.RowGroup, row func(cells []string) error) (err error) {
	rows := g.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	buffer := make([]parquet.Row, foreignBatch)
	cells := make([]string, len(t.names))
	for {
		n, err := rows.ReadRows(buffer)
		for _, r := range buffer[:n] {
			if err := t.texts(r, cells); err != nil {
				return err
			}
			if err := row(cells); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("damaged Parquet file: %w", err)
		case n == 0:
			return fmt.Errorf("damaged Parquet file: %w", io.ErrUnexpectedEOF)
		}
	}
}

// texts sets the cells of a row.
func (t *textColumns) texts(r parquet.Row, cells []string) error {
	clear(cells)
	var err error
	r.Range(func(leaf int, values []parquet.Value) bool {
		c := t.column[leaf]
		if !t.lists[c] {
			cells[c] = textOf(values[0])
			return true
		}
		var all []string
		for _, v := range values {
			if !v.IsNull() {
				all = append(all, textOf(v))
			}
		}
		if len(all) > 0 {
			var array []byte
			array, err = json.Marshal(all)
			cells[c] = string(array)
		}
		return err == nil
	})
	return err
}

func textOf(v parquet.Value) string {
	switch v.Kind() {
	case parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	}
	if v.IsNull() {
		return ""
	}
	return v.String()
}
