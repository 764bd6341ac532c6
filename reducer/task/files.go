package task

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"sync"

	"seine/formats/layout"
	"seine/formats/names"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/sheet"
)

// Files are the files that settings name, read from the store once a process. They
// may be used by many goroutines. What a newer version does not name any more goes,
// once no task holds it.
type Files struct {
	mu      sync.Mutex
	version uint64                  // the newest asked for
	lists   map[string]*names.List  // by digest
	sheets  map[string]*sheet.Table // by digest
}

// lists are the lists of the settings' "file:" rules, by path.
func (e Env) lists(ctx context.Context, s settings.Settings) (map[string]*names.List, error) {
	paths := scope.Files(s.Rules)
	if len(paths) == 0 {
		return nil, nil
	}
	files := e.lock(s)
	defer files.mu.Unlock()
	lists := make(map[string]*names.List, len(paths))
	for _, path := range paths {
		var err error
		if lists[path], err = kept(ctx, e, s, files.lists, settings.ListName(path), names.New); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// Sheets are the sheets of the settings; nil where they name none.
func (e Env) Sheets(ctx context.Context, s settings.Settings) (*sheet.Table, error) {
	if s.Sheets == "" {
		return nil, nil
	}
	files := e.lock(s)
	defer files.mu.Unlock()
	return kept(ctx, e, s, files.sheets, settings.SheetsName(s.Sheets), sheet.Open)
}

// lock takes the files, also while they are read: two tasks must not read the same.
func (e Env) lock(s settings.Settings) *Files {
	files := e.Files
	if files == nil {
		files = &Files{}
	}
	files.mu.Lock()
	if files.lists == nil {
		files.lists, files.sheets = map[string]*names.List{}, map[string]*sheet.Table{}
	}
	files.retire(s)
	return files
}

// kept is a file that settings name, made by open of what the store keeps of it.
func kept[T any](ctx context.Context, e Env, s settings.Settings, have map[string]*T, name string,
	open func([]byte) (*T, error)) (*T, error) {
	file, ok := s.Files[name]
	if !ok {
		return nil, fmt.Errorf("the settings name %s and do not keep it: set it again "+
			"(`seine settings set`), which reads the file", name)
	}
	if made := have[file.Digest]; made != nil {
		return made, nil
	}
	text, err := e.file(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	made, err := open(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	have[file.Digest] = made
	return made, nil
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
	maps.DeleteFunc(f.lists, func(digest string, _ *names.List) bool { return !named[digest] })
	maps.DeleteFunc(f.sheets, func(digest string, _ *sheet.Table) bool { return !named[digest] })
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
