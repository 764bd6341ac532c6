package catalogtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"seine/formats/layout"
	"seine/formats/lsm"
)

// Store holds objects in memory.
type Store map[layout.Key][]byte

// Open reads an object: it is an lsm.Opener.
func (s Store) Open(_ context.Context, key layout.Key, _ int64) (io.ReaderAt, error) {
	b, ok := s[key]
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	return bytes.NewReader(b), nil
}

// Source reads commits.
func (s Store) Source() lsm.Source {
	return lsm.Source{
		Get: func(_ context.Context, key layout.Key) ([]byte, error) {
			b, ok := s[key]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return b, nil
		},
		Missing: func(err error) bool { return err == fs.ErrNotExist },
	}
}

// Clone is a store whose objects can be damaged without harm to s: replace them,
// do not change their bytes.
func (s Store) Clone() Store { return maps.Clone(s) }

// WriteTo puts the objects into a directory as files.
func (s Store) WriteTo(dir string) error {
	for key, b := range s {
		path := filepath.Join(dir, filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
