package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
	"seine/formats/objstore/s3"
)

// Store is an opened object store.
type Store struct {
	objstore.Store
	URL  string
	Root string // of a directory store; empty for a bucket
	// Uses counts what the store was asked for.
	Uses *objstore.Counter
	own  io.Closer
}

// OpenStore opens a store by its name: a directory, or s3://bucket/prefix. A
// directory is created only if create is set.
func OpenStore(ctx context.Context, name string, create bool) (*Store, error) {
	if strings.HasPrefix(name, "s3://") {
		bucket, err := s3.Open(name, os.Getenv)
		if err != nil {
			return nil, err
		}
		counter := objstore.NewCounter(objstore.NewRetry(bucket, objstore.Backoff{}))
		return &Store{Store: counter, Uses: counter, URL: name}, nil
	}
	if !create {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("there is no store at %s; `seine crawl SEED...` makes one, "+
				"--store names another", name)
		}
	}
	if err := foreign(name); err != nil {
		return nil, err
	}
	d, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	counter := objstore.NewCounter(objstore.NewRetry(d, objstore.Backoff{}))
	return &Store{Store: counter, Uses: counter, URL: name, Root: name, own: d}, nil
}

// Name is by what another process on this machine, or anywhere for a bucket,
// opens the store.
func (s *Store) Name() string {
	if s.Root == "" {
		return s.URL
	}
	if path, err := filepath.Abs(s.Root); err == nil {
		return path
	}
	return s.Root
}

// ErrForeign: a folder holds what no crawl put there.
var ErrForeign = errors.New("is no crawl's store")

// foreign refuses a folder that is not a crawl's and not empty: nothing is
// written among files of others.
func foreign(root string) error {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	for _, e := range entries {
		if e.Name() == layout.Crawl {
			return nil
		}
	}
	for _, e := range entries {
		switch e.Name() {
		case ".seine", "probe", "settings", "uploads": // of a crawl that was being made
		default:
			return fmt.Errorf("%s %w: it holds %s, which no crawl put there; name an empty or new "+
				"folder with --store", root, ErrForeign, e.Name())
		}
	}
	return nil
}

// Close lets the store go.
func (s *Store) Close() error {
	if s.own == nil {
		return nil
	}
	return s.own.Close()
}

// Open reads an object by range: it is an lsm.Opener.
func (s *Store) Open(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
	return objstore.Open(ctx, s.Store, key, size), nil
}
