package dir_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore"
	"seine/formats/objstore/dir"
	"seine/formats/objstore/storetest"
)

// open opens a store that is closed with the test.
func open(t *testing.T, root string) *dir.Store {
	t.Helper()
	s, err := dir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// files lists all files below root.
func files(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(root, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) objstore.Store {
		root := filepath.Join(t.TempDir(), "not", "there", "yet")
		t.Cleanup(func() {
			if left, err := os.ReadDir(filepath.Join(root, ".seine/tmp")); err != nil || len(left) > 0 {
				t.Errorf("temporary files are left: %v, %v", left, err)
			}
		})
		return open(t, root)
	})
}

func TestKeysArePaths(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	if err := objstore.PutIfAbsent(t.Context(), s, "rounds/7/spec", []byte("spec")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "rounds/7/spec"))
	if err != nil || string(data) != "spec" {
		t.Errorf("file holds %q, %v", data, err)
	}
	if err := s.Delete(t.Context(), "rounds/7/spec"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "rounds")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty folders are left: %v", err)
	}
}

func TestNoWayOut(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	s := open(t, root)
	if data, err := s.Get(t.Context(), "link/secret"); err == nil {
		t.Errorf("read %q through a symbolic link", data)
	}
	if err := objstore.PutIfAbsent(t.Context(), s, "link/new", nil); err == nil {
		t.Error("wrote through a symbolic link")
	}
	if got := files(t, outside); len(got) != 1 {
		t.Errorf("outside there is %q", got)
	}
	err := s.List(t.Context(), "", "", func(i objstore.Info) error { return errors.New(i.Key) })
	if err != nil {
		t.Errorf("listed: %v", err)
	}
}

func TestOpenSweepsDeadWritersOnly(t *testing.T) {
	root := t.TempDir()
	temp := filepath.Join(root, ".seine/tmp")
	if err := os.MkdirAll(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(temp, "dead"), []byte("half a bo"), 0o644); err != nil {
		t.Fatal(err)
	}
	living, err := os.Create(filepath.Join(temp, "living"))
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	if err := syscall.Flock(int(living.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	open(t, root)
	if diff := cmp.Diff([]string{".seine/tmp/living"}, files(t, root)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// openingBody opens the same store again, as another process would, while it is being put.
type openingBody struct {
	t    *testing.T
	root string
	data *bytes.Reader
}

func (b openingBody) ReadAt(p []byte, off int64) (int, error) {
	open(b.t, b.root)
	return b.data.ReadAt(p, off)
}

func TestOpenSparesAPutUnderWay(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	body := objstore.ReaderAt(openingBody{t, root, bytes.NewReader([]byte("content"))}, 7)
	if err := s.Put(t.Context(), "k", body, objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Get(t.Context(), "k"); err != nil || string(data) != "content" {
		t.Errorf("got %q, %v", data, err)
	}
}

// TestEmptyFolderOfACrash: a crash between the folder and the link leaves a folder that no key
// names; it must not keep its name from a key for ever.
func TestEmptyFolderOfACrash(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "a/b/c"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, root)
	for _, o := range []objstore.PutOptions{{IfAbsent: true}, {}} {
		if err := s.Put(t.Context(), "a", objstore.Bytes([]byte("v")), o); err != nil {
			t.Errorf("put %+v: %v", o, err)
		}
	}
}
