package node

import (
	"context"
	"fmt"
	"io"
	"os"
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
	d, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	counter := objstore.NewCounter(objstore.NewRetry(d, objstore.Backoff{}))
	return &Store{Store: counter, Uses: counter, URL: name, Root: name, own: d}, nil
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
