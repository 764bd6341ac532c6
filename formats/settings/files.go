package settings

import (
	"fmt"
	"maps"
	"slices"

	"seine/formats/scope"
)

// File is a file that settings name, as it is kept in the store: under its digest,
// so that every worker and every later round reads the same.
type File struct {
	Digest string `json:"digest"` // SHA-256 of what is kept, in hex
	Bytes  int64  `json:"bytes"`  // of what is kept
	Lines  int64  `json:"lines"`  // that say something
}

// String says how large the file is.
func (f File) String() string {
	return fmt.Sprintf("%d lines, %d bytes, %.12s", f.Lines, f.Bytes, f.Digest)
}

// ListName is by what Files has the list of a "file:" rule.
func ListName(path string) string { return "file:" + path }

// SheetsName is by what Files has the file of the setting sheets.
func SheetsName(path string) string { return "sheets:" + path }

// FileNames are the files that the settings name: keys of Files, in order.
func (s Settings) FileNames() (names []string) {
	for _, path := range scope.Files(s.Rules) {
		names = append(names, ListName(path))
	}
	if s.Sheets != "" {
		names = append(names, SheetsName(s.Sheets))
	}
	return names
}

// SetSheets names another file of sheets, or the same, which is read again.
func (s *Settings) SetSheets(path string) {
	s.Sheets = path
	s.forget(SheetsName(""))
}

// SetRules replaces the rules. The files that they name are to be read again, even
// if the same were named before.
func (s *Settings) SetRules(rules []string) {
	s.Rules = rules
	s.forget(ListName(""))
}

// forget takes the files of a kind out of a copy of Files: versions share the map.
func (s *Settings) forget(prefix string) {
	files := maps.Clone(s.Files)
	maps.DeleteFunc(files, func(name string, _ File) bool {
		return len(name) >= len(prefix) && name[:len(prefix)] == prefix
	})
	if len(files) == 0 {
		files = nil
	}
	s.Files = files
}

// KeepFiles gives s exactly the files that it names. read is asked for those that
// are not kept yet.
func (s *Settings) KeepFiles(read func(name string) (File, error)) error {
	names := s.FileNames()
	files := map[string]File{}
	for _, name := range names {
		file, ok := s.Files[name]
		if !ok {
			var err error
			if file, err = read(name); err != nil {
				return err
			}
		}
		files[name] = file
	}
	if len(files) == 0 {
		files = nil
	}
	s.Files = files
	return nil
}

// FileChanges says in lines which files differ between two versions.
func FileChanges(from, to Settings) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(to.Files)) {
		old, had := from.Files[name]
		switch now := to.Files[name]; {
		case !had:
			lines = append(lines, fmt.Sprintf("%s: %s", name, now))
		case old != now:
			lines = append(lines, fmt.Sprintf("%s: %s, was %s", name, now, old))
		}
	}
	return lines
}
