package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"seine/mapper/webtest"
)

// fullRoot names the environment variable that tells the test's child its mount point.
const fullRoot = "SEINE_TEST_FULL_ROOT"

// TestFullDisk crawls on a disk of 1 MiB, in a child that has its own mount namespace: the verb must
// say what is wrong by its exit code and what to do, and nothing that was committed is lost.
func TestFullDisk(t *testing.T) {
	if root := os.Getenv(fullRoot); root != "" {
		if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=1m"); err != nil {
			t.Skip("this system lets a test mount nothing:", err)
		}
		crawlFullDisk(t, root)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
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

func crawlFullDisk(t *testing.T, root string) {
	web := webtest.New(webtest.Spec{Seed: 3, Plain: true, Domains: 30, Pages: 40})
	store := filepath.Join(root, "crawl")
	r := line{web: web}.run(t, crawlArgs(store, web.Seeds(5))...).must(t, exitStorage)
	if !strings.Contains(r.err, "full") {
		t.Errorf("the error does not say that the disk is full:\n%s", r.err)
	}
	line{}.run(t, "check", "--store", store).must(t, exitOK)
	// With room, the same command goes on.
	if err := syscall.Mount("", root, "", syscall.MS_REMOUNT, "size=200m"); err != nil {
		t.Skip("this system lets a test remount nothing:", err)
	}
	line{web: web}.run(t, crawlArgs(store, web.Seeds(5), "--max-pages", "50")...)
	line{}.run(t, "check", "--store", store).must(t, exitOK)
}
