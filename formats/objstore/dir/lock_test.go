package dir_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"seine/formats/objstore/dir"
)

func TestLock(t *testing.T) {
	root := t.TempDir()
	if _, held, err := dir.Holder(root); held || err != nil {
		t.Fatalf("nobody has locked: held %t, %v", held, err)
	}
	if len(files(t, root)) > 0 {
		t.Error("looking for a holder left a file")
	}
	lock, err := dir.Lock(root, "127.0.0.1:1234")
	if err != nil {
		t.Fatal(err)
	}
	checkHolder(t, root, "127.0.0.1:1234")

	_, err = dir.Lock(root, "other")
	var locked *dir.LockedError
	if !errors.As(err, &locked) || locked.Owner.Address != "127.0.0.1:1234" {
		t.Errorf("second lock: got %v, want a LockedError with the holder's address", err)
	} else if !strings.Contains(err.Error(), "127.0.0.1:1234") {
		t.Errorf("a person is not told whom to ask: %v", err)
	}
	if err := lock.Announce("localhost:9"); err != nil { // shorter than what it replaces
		t.Fatal(err)
	}
	checkHolder(t, root, "localhost:9")

	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, held, err := dir.Holder(root); held || err != nil {
		t.Errorf("after release: held %t, %v", held, err)
	}
	again, err := dir.Lock(root, "next")
	if err != nil {
		t.Fatal(err)
	}
	checkHolder(t, root, "next")
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

func checkHolder(t *testing.T, root, address string) {
	t.Helper()
	owner, held, err := dir.Holder(root)
	if err != nil || !held || owner.PID != os.Getpid() || owner.Address != address ||
		owner.Since.IsZero() {
		t.Errorf("holder is %+v, held %t, %v; want this process at %s", owner, held, err, address)
	}
}

// TestLockAndHolderTogether: looking who holds a lock must not keep anybody from taking it.
func TestLockAndHolderTogether(t *testing.T) {
	root := t.TempDir()
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
				if _, _, err := dir.Holder(root); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	for range 50 {
		lock, err := dir.Lock(root, "a")
		if err != nil {
			t.Error(err)
			break
		}
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Coordinators of a group share the lock; who wants it alone waits for the last.
func TestShare(t *testing.T) {
	root := t.TempDir()
	first, err := dir.Share(root, "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	second, err := dir.Share(root, "127.0.0.1:2")
	if err != nil {
		t.Fatalf("a second coordinator is kept out: %v", err)
	}
	checkHolder(t, root, "127.0.0.1:2")
	var locked *dir.LockedError
	if _, err := dir.Lock(root, "alone"); !errors.As(err, &locked) || locked.Owner.Address != "127.0.0.1:2" {
		t.Errorf("a lock beside shared ones: %v", err)
	}
	if err := second.Release(); err != nil {
		t.Fatal(err)
	}
	checkHolder(t, root, "127.0.0.1:2") // of the two, one is left
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if _, held, err := dir.Holder(root); held || err != nil {
		t.Errorf("after the last release: held %t, %v", held, err)
	}
	alone, err := dir.Lock(root, "alone")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Share(root, "late"); !errors.As(err, &locked) {
		t.Errorf("a share beside a lock: %v", err)
	}
	if err := alone.Release(); err != nil {
		t.Fatal(err)
	}
}
