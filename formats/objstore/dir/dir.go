// Package dir is an object store in a directory of a local file system: the store of a crawl on
// one machine. A key is a path below the root.
//
//	ROOT/
//	    commits/0000000012      the object of that key
//	    .seine/lock             who works on the store (Lock, Holder)
//	    .seine/tmp/…            bodies on their way, each locked by its writer
//
// # Guarantees beyond objstore's
//
// What a put that returned made visible survives the machine's crash: the body is synced before
// it is linked, the folder after. Put-if-absent is link(2), which has one winner on every local
// file system. A crash at any moment leaves the old or the new object, and at most a temporary
// file, which the next Open removes; those of living writers it leaves alone. A full disk is
// ErrFull and leaves nothing.
//
// Any number of processes may use a root at once: the lock is for those that must be alone. No
// path leaves the root, not by symbolic links either. Network file systems are not supported:
// their links and locks are not what this package stands on.
package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"seine/formats/objstore"
)

const (
	ownDir  = ".seine"
	tempDir = ".seine/tmp"
)

// Store is a store in a directory. Make one with Open.
type Store struct {
	root *os.Root
}

var _ objstore.Store = (*Store)(nil)

// Open opens the store at a path, creating it if there is nothing, and removes what writers
// that died have left.
func Open(path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(path, tempDir), 0o755); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := &Store{root}
	if err := s.sweepTemps(); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), root.Close())
	}
	return s, nil
}

// Close lets the directory go. No call may be running.
func (s *Store) Close() error { return s.root.Close() }

// check is what every operation begins with.
func check(ctx context.Context, op, key string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", op, key, err)
	}
	if err := objstore.CheckKey(key); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// classify maps the file system's errors to the store's: a folder is no object, and neither is
// what would lie below an object.
func classify(op, key string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("%s %s: %w", op, key, objstore.ErrNotExist)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s %s: %w: %w", op, key, objstore.ErrFull, err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%s %s: %w: %w", op, key, objstore.ErrUnavailable, err)
	}
	return fmt.Errorf("%s %s: %w", op, key, err)
}

// Get reads a whole object: a file never changes once it is linked, so what was opened is whole.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := check(ctx, "get", key); err != nil {
		return nil, err
	}
	f, err := s.root.Open(key)
	if err != nil {
		return nil, classify("get", key, err)
	}
	data, err := readAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, classify("get", key, err)
	}
	return data, nil
}

func readAll(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, syscall.EISDIR
	}
	if info.Size() > objstore.MaxGet {
		return nil, fmt.Errorf("%d bytes are more than %d", info.Size(), objstore.MaxGet)
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	if errors.Is(err, io.EOF) && len(data) == 0 {
		err = nil
	}
	return data, err
}

// ReadAt reads a range of the file.
func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	if err := check(ctx, "read", key); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, fmt.Errorf("read %s: offset %d is negative", key, off)
	}
	if len(p) == 0 {
		return 0, nil
	}
	f, err := s.root.Open(key)
	if err != nil {
		return 0, classify("read", key, err)
	}
	n, err := f.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		return n, errors.Join(io.EOF, f.Close())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return n, classify("read", key, err)
	}
	return n, nil
}

// Stat describes the file.
func (s *Store) Stat(ctx context.Context, key string) (objstore.Info, error) {
	if err := check(ctx, "stat", key); err != nil {
		return objstore.Info{}, err
	}
	info, err := s.root.Lstat(key)
	if err == nil && !info.Mode().IsRegular() {
		err = syscall.EISDIR
	}
	if err != nil {
		return objstore.Info{}, classify("stat", key, err)
	}
	return objstore.Info{Key: key, Size: info.Size(), ModTime: info.ModTime()}, nil
}

// Delete unlinks the files and prunes the folders that it leaves empty. A put that loses its
// folder to this makes it again.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := check(ctx, "delete", key); err != nil {
			return err
		}
		if info, err := s.root.Lstat(key); err == nil && info.IsDir() {
			continue // no object; and Remove would take an empty folder
		}
		if err := s.root.Remove(key); err != nil {
			err = classify("delete", key, err)
			if !errors.Is(err, objstore.ErrNotExist) {
				return err
			}
		}
		for d := path.Dir(key); d != "."; d = path.Dir(d) {
			if s.removeDir(d) != nil {
				break // not empty, or not ours to judge
			}
		}
	}
	return nil
}

// folderOf is the part of a prefix that names a folder: with its slash, or "".
func folderOf(prefix string) string { return prefix[:strings.LastIndexByte(prefix, '/')+1] }
