package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"seine/cmd/internal/ui"
	"seine/formats/catalog"
	"seine/formats/layout"
	"seine/formats/objstore"
)

// stage keeps copies of a bucket's objects in a folder, for DuckDB to read: objects
// never change, so a copy is good for ever. What is not asked for goes, the longest
// unused first, when the folder is over its bound.
type stage struct {
	store objstore.Store
	dir   string
	bound int64               // bytes
	keys  map[layout.Key]bool // that path was asked for
}

func newStage(store objstore.Store, dir string, bound int64) *stage {
	return &stage{store: store, dir: dir, bound: bound, keys: map[layout.Key]bool{}}
}

// path is where an object's copy is, once brought.
func (s *stage) path(key layout.Key) string {
	s.keys[key] = true
	return s.place(key)
}

func (s *stage) place(key layout.Key) string { return filepath.Join(s.dir, filepath.FromSlash(key)) }

// mentioned are the objects that a text of SQL names.
func (s *stage) mentioned(sql string) []layout.Key {
	var keys []layout.Key
	for key := range s.keys {
		if strings.Contains(sql, s.place(key)+"'") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// bringing is how many objects are copied at once.
const bringing = 8

// bring makes sure that copies of the objects are there.
func (s *stage) bring(ctx context.Context, keys []layout.Key) error {
	var missing []objstore.Info
	var needed int64
	wanted := map[string]bool{}
	for _, key := range keys {
		path := s.place(key)
		wanted[path] = true
		info, err := os.Stat(path)
		if err == nil {
			needed += info.Size()
			now := time.Now()
			_ = os.Chtimes(path, now, now) // only the order in which copies go
			continue
		}
		object, err := s.store.Stat(ctx, key)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		needed += object.Size
		missing = append(missing, object)
	}
	if needed > s.bound {
		return usagef("the statement reads %d objects of %s; their copies may take %s: allow more with --cache, "+
			"name fewer tables, or install DuckDB's httpfs extension", len(keys), ui.Bytes(needed),
			ui.Bytes(s.bound))
	}
	if err := s.evict(wanted, missing); err != nil {
		return fmt.Errorf("folder %s: %w", s.dir, err)
	}
	errs := make([]error, len(missing))
	slots := make(chan struct{}, bringing)
	var wait sync.WaitGroup
	for i, object := range missing {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			errs[i] = s.one(ctx, object)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// one copies an object: whole or not at all.
func (s *stage) one(ctx context.Context, object objstore.Info) error {
	path := s.place(object.Key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("copy of %s: %w", object.Key, err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("copy of %s: %w", object.Key, err)
	}
	const piece = 16 << 20
	source := io.NewSectionReader(objstore.Open(ctx, s.store, object.Key, object.Size), 0, object.Size)
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, struct{ io.Reader }{source}, make([]byte, min(piece,
		max(object.Size, 1))))
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy of %s: %w", object.Key, err), ignoreMissing(os.Remove(file.Name())))
	}
	return nil
}

// evict makes room for what is missing.
func (s *stage) evict(wanted map[string]bool, missing []objstore.Info) error {
	type copied struct {
		path string
		info fs.FileInfo
	}
	var all []copied
	var used int64
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			used += info.Size()
			all = append(all, copied{path, info})
		}
		return ignoreMissing(err)
	})
	if err != nil {
		return err
	}
	for _, object := range missing {
		used += object.Size
	}
	slices.SortFunc(all, func(a, b copied) int {
		return cmp.Or(a.info.ModTime().Compare(b.info.ModTime()), strings.Compare(a.path, b.path))
	})
	for _, c := range all {
		if used <= s.bound {
			return nil
		}
		if wanted[c.path] {
			continue
		}
		if err := ignoreMissing(os.Remove(c.path)); err != nil {
			return err
		}
		used -= c.info.Size()
	}
	return nil
}

// queryPaths says where DuckDB finds the objects of the store: in place, or in a stage
// that they have to be brought to first.
func (l *looking) queryPaths(inPlace bool, cache string) (func(layout.Key) string, *stage, error) {
	if inPlace {
		path, err := l.paths()
		return path, nil, err
	}
	bound, err := parseBytes(cache)
	if err != nil {
		return nil, nil, usagef("--cache: %w", err)
	}
	s := newStage(l.Store, filepath.Join(l.Store.Local, "query"), bound)
	return s.path, s, nil
}

// textOf is the SQL of views.
func textOf(views []catalog.View) string {
	var b strings.Builder
	for _, v := range views {
		b.WriteString(v.SQL)
	}
	return b.String()
}
