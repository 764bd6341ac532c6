package spool_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"seine/mapper/spool"
)

// killed is what a process does that works on the names and is killed: this test binary, run again
// with the folder in its environment.
func TestMain(m *testing.M) {
	dir, names := os.Getenv("SPOOL_TEST_DIR"), os.Getenv("SPOOL_TEST_NAMES")
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := spool.Open(dir, "r1-t2", 1<<20)
	if err != nil {
		panic(err)
	}
	s.Working("done before")()
	for name := range strings.FieldsSeq(names) {
		s.Working(name)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		panic(err)
	}
	_ = self.Kill()
	select {}
}

func die(t *testing.T, dir, names string) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "SPOOL_TEST_DIR="+dir, "SPOOL_TEST_NAMES="+names)
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the process ended with %v\n%s", err, out)
	}
}

func wantDeaths(t *testing.T, dir string, want map[string]int) {
	t.Helper()
	got, err := spool.Deaths(dir, "r1-t2")
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("deaths %v (%v), want %v", got, err, want)
	}
}

func TestDeathsOfProcesses(t *testing.T) {
	dir := t.TempDir()
	wantDeaths(t, dir, nil)
	die(t, dir, "a b")
	wantDeaths(t, dir, map[string]int{"a": 1, "b": 1})
	wantDeaths(t, dir, map[string]int{"a": 1, "b": 1}) // asking again adds none
	die(t, dir, "b b c")
	s := open(t, dir)
	wantDeaths(t, dir, nil) // somebody works: nobody died
	s.Working("d")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantDeaths(t, dir, map[string]int{"a": 1, "b": 2, "c": 1}) // and d did not kill it
	if err := open(t, dir).Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "r1-t2")); err == nil {
		t.Error("deaths outlive their task")
	}
}

// Deaths are bounded, however often a crawl is killed; the newest stay.
func TestDeathsAreBounded(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "r1-t2")
	die(t, dir, "first")
	s := open(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	one := filepath.Join(folder, "00000001.died")
	slot, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 99 {
		if err := os.WriteFile(filepath.Join(folder, "working"), slot, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := spool.Deaths(dir, "r1-t2"); err != nil {
			t.Fatal(i, err)
		}
	}
	died, err := filepath.Glob(filepath.Join(folder, "*.died"))
	if err != nil || len(died) != 64 || filepath.Base(slices.Max(died)) != "00000100.died" {
		t.Errorf("%d files of deaths, the newest %s", len(died), filepath.Base(slices.Max(died)))
	}
}

// A torn or damaged slot names nothing, and hides no other.
func TestDamagedSlots(t *testing.T) {
	dir := t.TempDir()
	die(t, dir, "aaaa bbbb cccc")
	path := filepath.Join(dir, "r1-t2", "working")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[8] ^= 1        // aaaa
	b = b[:len(b)-2] // cccc
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	wantDeaths(t, dir, map[string]int{"bbbb": 1})
}

// Slots are used again: the file is as large as what was worked on at once.
func TestSlotsAreUsedAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 100 {
				s.Working("http://h.test/")()
			}
		})
	}
	wait.Wait()
	s.Working(strings.Repeat("x", 5000))() // fits no slot
	info, err := os.Stat(filepath.Join(dir, "r1-t2", "working"))
	if err != nil || info.Size() > 4*4096 {
		t.Errorf("%v bytes (%v)", info.Size(), err)
	}
}
