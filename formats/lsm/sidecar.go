package lsm

import (
	"context"
	"errors"
	"fmt"
	"io"

	"seine/formats/bloom"
	"seine/formats/rowfile"
)

// RebuildSidecar writes the sidecar of an object anew from its rows: the same
// bytes as when it was written. Object.Sidecar is only to be replaced if what is
// there is damaged. It returns the size in bytes.
func (t Table[R]) RebuildSidecar(ctx context.Context, open Opener, o Object, w io.Writer) (int64, error) {
	f, err := openObject[R](ctx, open, o, rowfile.ReadOptions{Columns: t.Always})
	if err != nil {
		return 0, err
	}
	defer f.close()
	match, err := f.Strings(t.Match)
	if err != nil {
		return 0, fmt.Errorf("rebuild sidecar of %s: %w", o.Key, err)
	}
	pages, err := match.Pages()
	if err != nil {
		return 0, fmt.Errorf("rebuild sidecar of %s: %w", o.Key, err)
	}
	side := bloom.NewWriter(w)
	cursor := f.Scan(0, f.NumRows())
	var encoded []byte
	for page := 0; ; {
		row, err := cursor.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("rebuild sidecar of %s: %w", o.Key, err)
		}
		starts := page < len(pages) && pages[page] == cursor.Row()
		if starts {
			page++
			if err := ctx.Err(); err != nil {
				return 0, err
			}
		}
		encoded = t.Key(row).Append(encoded[:0])
		if err := side.Add(encoded, starts); err != nil {
			return 0, fmt.Errorf("rebuild sidecar of %s: %w", o.Key, err)
		}
	}
	if err := side.Finish(); err != nil {
		return 0, fmt.Errorf("rebuild sidecar of %s: %w", o.Key, err)
	}
	return side.Bytes(), nil
}

// CheckSidecar reads all of an object's sidecar and says whether it is whole.
// One that is not wraps bloom.ErrCorrupt.
func CheckSidecar(ctx context.Context, open Opener, o Object) error {
	src, err := open(ctx, o.Sidecar, o.SidecarBytes)
	if err != nil {
		return fmt.Errorf("open sidecar %s: %w", o.Sidecar, err)
	}
	defer closeSource(src)
	f, err := bloom.Open(src, o.SidecarBytes, nil)
	if err == nil && f.Rows() != o.Rows {
		err = fmt.Errorf("%w: it is of %d rows, the object has %d", bloom.ErrCorrupt, f.Rows(), o.Rows)
	}
	for g := 0; err == nil && g < len(f.Groups()); g++ {
		if _, err = f.Pages(g); err == nil {
			_, err = f.Filter(g)
		}
	}
	if err != nil {
		return fmt.Errorf("sidecar %s: %w", o.Sidecar, err)
	}
	return nil
}
