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
	"strings"

	"seine/formats/layout"
	"seine/formats/names"
	"seine/formats/objstore"
	"seine/formats/settings"
)

// FileError: a file that settings name cannot be used. Nothing was changed.
type FileError struct {
	Path string
	Err  error
}

// Error implements error.
func (e *FileError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("the rules name the file %s, which is not there: rules take a path from the "+
			"folder that the command runs in", e.Path)
	}
	return fmt.Sprintf("%s: %v", e.Path, e.Err)
}

// Unwrap gives what is wrong with the file.
func (e *FileError) Unwrap() error { return e.Err }

// CheckFiles reads the files that settings name and that are not kept yet, and keeps
// nothing. Its errors are *FileError.
func CheckFiles(s settings.Settings) error {
	return s.KeepFiles(func(name string) (settings.File, error) {
		_, file, err := readFile(name)
		return file, err
	})
}

// keepFiles puts the files that s names and that are not kept yet into the store.
func (c *Crawl) keepFiles(ctx context.Context, s *settings.Settings) error {
	return s.KeepFiles(func(name string) (settings.File, error) {
		text, file, err := readFile(name)
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
func readFile(name string) (text []byte, f settings.File, err error) {
	path := strings.TrimPrefix(name, settings.ListName(""))
	defer func() {
		if err != nil {
			err = &FileError{path, err}
		}
	}()
	file, err := openFile(path)
	if err != nil {
		return nil, f, err
	}
	text, count, err := names.Parse(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, f, err
	}
	sum := sha256.Sum256(text)
	return text, settings.File{Digest: hex.EncodeToString(sum[:]), Bytes: int64(len(text)),
		Lines: int64(count)}, nil
}

func openFile(path string) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no plain file: name a text file with a domain a line")
	case info.Size() > names.MaxBytes:
		return nil, names.ErrTooLarge
	}
	return os.Open(path)
}
