package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"seine/formats/objstore"
)

// listing is one List: what to deliver, and to whom.
type listing struct {
	store         *Store
	prefix, after string
	fn            func(objstore.Info) error
}

// List walks the folders in the order of keys, and only those that can hold a key asked for.
func (s *Store) List(ctx context.Context, prefix, after string,
	fn func(objstore.Info) error) error {
	folder := folderOf(prefix)
	if folder != "" && objstore.CheckKey(strings.TrimSuffix(folder, "/")) != nil {
		return nil // no key has such a prefix
	}
	err := listing{s, prefix, after, fn}.walk(ctx, folder)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

// walk lists a folder, named by its keys' common prefix: "" or with a slash at its end.
func (l listing) walk(ctx context.Context, folder string) error {
	entries, err := l.store.readDir(path.Join(".", folder))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", l.prefix, err)
	}
	for _, key := range sorted(folder, entries) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("list %s: %w", l.prefix, err)
		}
		if strings.HasSuffix(key, "/") {
			if l.mayHold(key) {
				err = l.walk(ctx, key)
			}
		} else if strings.HasPrefix(key, l.prefix) && key > l.after {
			err = l.deliver(key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sorted gives the keys of files and the prefixes of folders in the order of the keys: a
// folder's keys sort as its name with a slash, so "a-b" comes before "a/b".
func sorted(folder string, entries []os.DirEntry) []string {
	keys := make([]string, 0, len(entries))
	for _, e := range entries {
		switch {
		case folder == "" && e.Name()[0] == '.':
		case e.IsDir():
			keys = append(keys, folder+e.Name()+"/")
		case e.Type().IsRegular():
			keys = append(keys, folder+e.Name())
		}
	}
	slices.Sort(keys)
	return keys
}

// mayHold says whether a folder can hold keys with the prefix, greater than after.
func (l listing) mayHold(folder string) bool {
	return (strings.HasPrefix(folder, l.prefix) || strings.HasPrefix(l.prefix, folder)) &&
		(folder > l.after || strings.HasPrefix(l.after, folder))
}

func (l listing) deliver(key string) error {
	info, err := l.store.root.Lstat(key)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", key, err)
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	return l.fn(objstore.Info{Key: key, Size: info.Size(), ModTime: info.ModTime()})
}
