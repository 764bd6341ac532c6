package dir_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore"
)

// fullRoot names the environment variable that tells the test's child its mount point.
const fullRoot = "SEINE_TEST_FULL_ROOT"

// TestFull runs itself again in its own mount namespace, where it may mount a disk of 1 MiB.
func TestFull(t *testing.T) {
	if root := os.Getenv(fullRoot); root != "" {
		if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=1m"); err != nil {
			t.Skip("this system lets a test mount nothing:", err)
		}
		testFull(t, root)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestFull$", "-test.v")
	child.Env = append(os.Environ(), fullRoot+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skip("this system gives a test no namespaces:", err)
	}
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

func testFull(t *testing.T, root string) {
	s := open(t, root)
	if err := objstore.PutIfAbsent(t.Context(), s, "fits", make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}
	big := objstore.Bytes(make([]byte, 4<<20))
	for _, o := range []objstore.PutOptions{{}, {IfAbsent: true}} {
		if err := s.Put(t.Context(), "big", big, o); !errors.Is(err, objstore.ErrFull) {
			t.Errorf("put %+v: got %v, want ErrFull", o, err)
		}
	}
	if diff := cmp.Diff([]string{"fits"}, files(t, root)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := objstore.PutIfAbsent(t.Context(), s, "small", make([]byte, 100<<10)); err != nil {
		t.Errorf("after a full disk, a small put: %v", err)
	}
}
