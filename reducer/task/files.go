package task

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"

	"seine/formats/layout"
	"seine/formats/names"
	"seine/formats/scope"
	"seine/formats/settings"
)

// Files are the files that settings name, read from the store once a process. They
// may be used by many goroutines. What a newer version does not name any more goes,
// once no task holds it.
type Files struct {
	mu      sync.Mutex
	version uint64                 // the newest asked for
	lists   map[string]*names.List // by digest
}

// lists are the lists of the settings' "file:" rules, by path.
func (e Env) lists(ctx context.Context, s settings.Settings) (map[string]*names.List, error) {
	paths := scope.Files(s.Rules)
	if len(paths) == 0 {
		return nil, nil
	}
	files := e.Files
	if files == nil {
		files = &Files{}
	}
	files.mu.Lock() // also while reading: two tasks must not read the same
	defer files.mu.Unlock()
	files.retire(s)
	lists := make(map[string]*names.List, len(paths))
	for _, path := range paths {
		file, ok := s.Files[settings.ListName(path)]
		if !ok {
			return nil, fmt.Errorf("the settings name the file %s and do not keep it: "+
				"`seine settings set rules=...` reads it", path)
		}
		list := files.lists[file.Digest]
		if list == nil {
			text, err := e.file(ctx, file)
			if err == nil {
				list, err = names.New(text)
			}
			if err != nil {
				return nil, fmt.Errorf("the list %s: %w", path, err)
			}
			if files.lists == nil {
				files.lists = map[string]*names.List{}
			}
			files.lists[file.Digest] = list
		}
		lists[path] = list
	}
	return lists, nil
}

// retire lets go what a version newer than those before does not name.
func (f *Files) retire(s settings.Settings) {
	if s.Version <= f.version {
		return
	}
	f.version = s.Version
	named := map[string]bool{}
	for _, file := range s.Files {
		named[file.Digest] = true
	}
	for digest := range f.lists {
		if !named[digest] {
			delete(f.lists, digest)
		}
	}
}

// file reads what the store keeps of a file.
func (e Env) file(ctx context.Context, f settings.File) ([]byte, error) {
	key := layout.Upload(f.Digest)
	src, err := e.Open(ctx, key, f.Bytes)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", key, err)
	}
	defer CloseReader(src)
	text := make([]byte, f.Bytes)
	if _, err := io.ReadFull(io.NewSectionReader(src, 0, f.Bytes), text); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != f.Digest {
		return nil, fmt.Errorf("%s is not what was put: restore the object, or "+
			"name the file again in the settings", key)
	}
	return text, nil
}
