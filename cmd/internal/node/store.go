package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	direct objstore.Store
	URL    string
	Root   string // of a directory store; empty for a bucket
	// Local is the folder of this machine that goes with the store: the lock of the
	// process that has it, its scratch files, its cache. It is Root of a directory
	// store, and for a bucket a folder of its own below the user's cache.
	Local string
	// Uses counts what the store was asked for.
	Uses *objstore.Counter
	own  io.Closer
}

// OpenStore opens a store by its name: a directory, or s3://bucket/prefix. A
// directory is created only if create is set.
func OpenStore(ctx context.Context, name string, create bool) (*Store, error) {
	if strings.HasPrefix(name, "s3://") {
		return openBucket(name)
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
	s := &Store{URL: name, Root: name, Local: name, own: d}
	s.stack(d)
	return s, nil
}

// OnStore is a store on any other: of a simulation. local is as Store.Local.
func OnStore(base objstore.Store, name, local string) *Store {
	s := &Store{URL: name, Local: local}
	s.stack(base)
	return s
}

// stack puts on a store what every user of it needs: each try is counted, tries are
// repeated, and small objects are read once.
func (s *Store) stack(base objstore.Store) {
	s.Uses = objstore.NewCounter(base)
	s.direct = objstore.NewRetry(s.Uses, objstore.Backoff{})
	s.Store = objstore.NewMemo(s.direct, objstore.MemoOptions{Changes: func(key string) bool {
		return key == layout.Latest || key == objstore.ProbeKey
	}})
}

func openBucket(name string) (*Store, error) {
	bucket, err := s3.Open(name, os.Getenv)
	if err != nil {
		return nil, err
	}
	local, err := localFolder(name)
	if err != nil {
		return nil, err
	}
	s := &Store{URL: name, Local: local}
	s.stack(bucket)
	return s, nil
}

// localFolder is the folder of this user and machine that belongs to a bucket's
// crawl alone: spools are named by job and task, so those of two crawls must never
// meet. It is made by whoever first writes there.
func localFolder(name string) (string, error) {
	a, err := s3.ParseAddress(name, os.Getenv)
	if err != nil {
		return "", err
	}
	base, err := os.UserCacheDir()
	if err != nil { // a daemon without a home
		base = filepath.Join(os.TempDir(), fmt.Sprintf("seine-cache-%d", os.Getuid()))
	}
	sum := sha256.Sum256([]byte(a.Endpoint + "/" + a.Bucket + "/" + a.Prefix))
	return filepath.Join(base, "seine", hex.EncodeToString(sum[:8])), nil
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
		if e.Name() == layout.Crawl || e.Name() == layout.Copy {
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

// Direct is the store without the memory of small objects.
func (s *Store) Direct() objstore.Store { return s.direct }

// wholeBytes is up to where an object is read whole: a footer and a page or two
// would be as many requests, each of which takes as long as half a megabyte does.
const wholeBytes = 512 << 10

// Open reads an object by range, a small one whole: it is an lsm.Opener.
func (s *Store) Open(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
	if size <= wholeBytes {
		return objstore.OpenWhole(ctx, s.Store, key, size), nil
	}
	return objstore.Open(ctx, s.Store, key, size), nil
}
