package dir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"seine/formats/objstore"
)

const (
	copyBytes = 1 << 20 // between two looks at the context
	// maxRaces is how often a put makes its folder again after a delete has pruned it.
	maxRaces = 1000
)

// Put writes the body to a temporary file, syncs it, and gives it its name.
func (s *Store) Put(ctx context.Context, key string, body objstore.Body,
	o objstore.PutOptions) error {
	if err := check(ctx, "put", key); err != nil {
		return err
	}
	if body.Size() > objstore.MaxPut {
		return fmt.Errorf("put %s: %d bytes are more than %d", key, body.Size(), int64(objstore.MaxPut))
	}
	if o.IfAbsent { // saves writing the body where the answer is known; link decides
		if info, err := s.root.Lstat(key); err == nil && info.Mode().IsRegular() {
			return s.exists(ctx, key, body, o)
		}
	}
	temp, f, err := s.createTemp()
	if err != nil {
		return classify("put", key, err)
	}
	err = fill(ctx, f, body)
	linked := false
	if err == nil {
		linked, err = s.publish(temp, key, o.IfAbsent)
	}
	if !linked || o.IfAbsent { // a rename has taken the temporary name away
		err = errors.Join(err, s.root.Remove(temp))
	}
	err = errors.Join(err, f.Close())
	switch {
	case errors.Is(err, fs.ErrExist) && !linked:
		return s.exists(ctx, key, body, o)
	case errors.Is(err, errConflict):
		return fmt.Errorf("put %s: %w", key, err)
	case err != nil:
		return classify("put", key, err)
	}
	return nil
}

// exists answers for a key that is taken. The winner may not have synced its name yet: whoever
// acts on having lost must not find, after a crash, that nobody won.
func (s *Store) exists(ctx context.Context, key string, body objstore.Body,
	o objstore.PutOptions) error {
	if err := s.syncDir(path.Dir(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return classify("put", key, err)
	}
	return objstore.Exists(ctx, s, key, body, o)
}

// createTemp creates a temporary file and locks it, which tells sweepTemps that its writer lives.
func (s *Store) createTemp() (string, *os.File, error) {
	for {
		name := path.Join(tempDir, rand.Text())
		f, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return "", nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			return "", nil, errors.Join(err, f.Close())
		}
		// Between create and lock a sweep may have taken the file for a dead writer's.
		if _, err := s.root.Lstat(name); err == nil {
			return name, f, nil
		}
		if err := f.Close(); err != nil {
			return "", nil, err
		}
	}
}

// sweepTemps removes the temporary files that nobody holds.
func (s *Store) sweepTemps() error {
	entries, err := s.readDir(tempDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(tempDir, e.Name())
		f, err := s.root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			err = s.root.Remove(name)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// fill copies the body and syncs it.
func fill(ctx context.Context, f *os.File, body objstore.Body) error {
	r := body.Reader()
	for off := int64(0); off < body.Size(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(f, r, min(copyBytes, body.Size()-off))
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the body ends at %d of %d bytes", off+n, body.Size())
		}
		if err != nil {
			return err
		}
		off += n
	}
	return f.Sync()
}

// errConflict: a key is another's folder.
var errConflict = errors.New("a key cannot be another's folder")

// publish gives the temporary file its key, and syncs the folder. linked says that the object is
// visible, even if the sync then went wrong.
func (s *Store) publish(temp, key string, ifAbsent bool) (linked bool, err error) {
	for range maxRaces {
		if err := s.makeDirs(path.Dir(key)); err != nil {
			if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
				return false, fmt.Errorf("%w (a part of it is an object)", errConflict)
			}
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return false, err
		}
		if ifAbsent {
			err = s.root.Link(temp, key)
		} else {
			err = s.root.Rename(temp, key)
		}
		switch {
		case err == nil:
			return true, s.syncDir(path.Dir(key))
		case errors.Is(err, fs.ErrNotExist):
			continue // a delete has pruned the folder
		}
		info, statErr := s.root.Lstat(key)
		if statErr != nil || !info.IsDir() {
			return false, err
		}
		if !s.removeEmpty(key) {
			return false, fmt.Errorf("%w (it is one)", errConflict)
		}
	}
	return false, fmt.Errorf("lost its folder %d times: %w", maxRaces, err)
}

// makeDirs creates a folder and syncs the names of those that it created.
func (s *Store) makeDirs(dir string) error {
	if dir == "." {
		return nil
	}
	info, err := s.root.Lstat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return syscall.ENOTDIR
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := s.makeDirs(path.Dir(dir)); err != nil {
		return err
	}
	if err := s.root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.syncDir(path.Dir(dir))
}

// removeEmpty removes a folder that holds nothing but folders that hold nothing: what a crash in
// a delete or before a link leaves. It says whether the folder is gone.
func (s *Store) removeEmpty(dir string) bool {
	entries, err := s.readDir(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		if !e.IsDir() || !s.removeEmpty(path.Join(dir, e.Name())) {
			return false
		}
	}
	err = s.removeDir(dir)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// removeDir removes an empty folder. Root.Remove would also take an object that has come in the
// folder's place.
func (s *Store) removeDir(dir string) error {
	parent, err := s.root.Open(path.Dir(dir))
	if err != nil {
		return err
	}
	err = unix.Unlinkat(int(parent.Fd()), path.Base(dir), unix.AT_REMOVEDIR)
	return errors.Join(err, parent.Close())
}

func (s *Store) syncDir(dir string) error {
	d, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (s *Store) readDir(dir string) ([]os.DirEntry, error) {
	d, err := s.root.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir(-1)
	return entries, errors.Join(err, d.Close())
}
