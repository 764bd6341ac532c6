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
	"seine/formats/names"
	"seine/formats/objstore"
	"seine/formats/rowfile"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/weburl"
)

// FileError: a file that settings name cannot be used. Nothing was changed.
type FileError struct {
	Path string
	Err  error
}

// Error implements error.
func (e *FileError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("the settings name the file %s, which is not there: they take a path from the "+
			"folder that the command runs in", e.Path)
	}
	return fmt.Sprintf("%s: %v", e.Path, e.Err)
}

// Unwrap gives what is wrong with the file.
func (e *FileError) Unwrap() error { return e.Err }

// CheckFiles reads the files that settings name and that are not kept yet, as a new
// crawl would, and keeps nothing. Its errors are *FileError.
func CheckFiles(s settings.Settings) error {
	suffixes, err := weburl.ParseSuffixes(weburl.EmbeddedSuffixes())
	if err != nil {
		return err
	}
	return s.KeepFiles(func(name string) (settings.File, error) {
		_, file, err := readFile(name, s.GroupByHost, suffixes)
		return file, err
	})
}

// keepFiles puts the files that s names and that are not kept yet into the store.
func (c *Crawl) keepFiles(ctx context.Context, s *settings.Settings) error {
	return s.KeepFiles(func(name string) (settings.File, error) {
		text, file, err := readFile(name, s.GroupByHost, c.Suffixes)
		if err != nil {
			return file, err
		}
		err = c.Store.Put(ctx, layout.Upload(file.Digest), objstore.Bytes(text),
			objstore.PutOptions{IfAbsent: true, Same: true})
		if err != nil {
			return file, fmt.Errorf("keep %s: %w", name, err)
		}
		return file, nil
	})
}

// readFile reads a file that settings name, by the name that they keep it under, to
// the form that is kept.
func readFile(name string, byHost bool, suffixes *weburl.Suffixes) (text []byte, f settings.File,
	err error) {
	path, sheets := strings.CutPrefix(name, settings.SheetsName(""))
	path = strings.TrimPrefix(path, settings.ListName(""))
	defer func() {
		if err != nil {
			err = &FileError{path, err}
		}
	}()
	file, size, err := openFile(path)
	if err != nil {
		return nil, f, err
	}
	var count int
	if sheets {
		text, count, err = readSheets(file, size, &sheet.Builder{Suffixes: suffixes, ByHost: byHost})
	} else {
		text, count, err = names.Parse(file)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, f, err
	}
	sum := sha256.Sum256(text)
	return text, settings.File{Digest: hex.EncodeToString(sum[:]), Bytes: int64(len(text)),
		Lines: int64(count)}, nil
}

// readSheets reads sheets in the format that a file's name ends with, or that it
// begins like: Parquet, YAML, else CSV.
func readSheets(file *os.File, size int64, b *sheet.Builder) (text []byte, count int, err error) {
	head := make([]byte, len(parquetMagic))
	if n, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	} else if string(head[:n]) == parquetMagic {
		err = rowfile.Texts(file, size, b.Head, b.AddRow)
		return encodeSheets(b, err)
	}
	switch strings.ToLower(filepath.Ext(file.Name())) {
	case ".yaml", ".yml":
		return encodeSheets(b, b.ReadYAML(file))
	case ".parquet":
		return nil, 0, errors.New("it is no Parquet file")
	}
	return encodeSheets(b, b.ReadCSV(file))
}

// parquetMagic begins and ends every Parquet file.
const parquetMagic = "PAR1"

func encodeSheets(b *sheet.Builder, err error) ([]byte, int, error) {
	if err == nil {
		text, count, err := b.Encode()
		if err == nil {
			return text, count, nil
		}
		return nil, 0, fmt.Errorf("%w\nmend the sheets and set sheets again; nothing was changed", err)
	}
	return nil, 0, fmt.Errorf("%w\nsheets are CSV, YAML or Parquet with a column for and some of: %s", err,
		sheet.Columns())
}

func openFile(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("it is no plain file: name one that holds the list or the sheets")
	case info.Size() > names.MaxBytes:
		return nil, 0, names.ErrTooLarge
	}
	file, err := os.Open(path)
	return file, info.Size(), err
}
