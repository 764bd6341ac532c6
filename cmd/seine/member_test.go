package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMembers changes a group of real processes: leadership is handed over, one that is gone is
// removed and another joins in its place; and whoever was removed stops by itself and says so, at once
// or when it comes back.
func TestMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	t.Parallel()
	folder := t.TempDir()
	c := &cluster{t: t, folder: folder, store: filepath.Join(folder, "crawl"),
		seine: build(t, "seine/cmd/seine"), seined: build(t, "seine/cmd/seined")}
	c.startAll(0)
	first := c.leader()
	var others []*daemon
	for _, d := range c.coordinators {
		if d != first {
			others = append(others, d)
		}
	}
	gone, stays := others[0], others[1]
	if out := c.members("transfer", stays.name()); !strings.Contains(out, "leads") || c.leader() != stays {
		t.Errorf("after a transfer to %s:\n%s", stays.name(), out)
	}
	c.members("transfer", stays.name()) // it is so already
	gone.end(syscall.SIGKILL)
	if out := c.members("remove", gone.name()); strings.Contains(out, gone.name()) {
		t.Errorf("%s is still there:\n%s", gone.name(), out)
	}
	gone.start(t) // with the log that names it a member
	c.endsRemoved(gone)
	joined := c.coordinator("n4", freeAddress(t), freeAddress(t), "--join", c.urls)
	joined.start(t)
	c.coordinators = append(c.coordinators, joined)
	for n := 0; !strings.Contains(c.members("list"), "n4"); n++ {
		if n > 100 {
			t.Fatal("n4 has not been taken in")
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.members("transfer", "n4")
	if out := c.members("remove", "n4"); strings.Contains(out, "n4") || !strings.Contains(out, "leads") {
		t.Errorf("after the leader was removed:\n%s", out)
	}
	c.endsRemoved(joined)
	if out, err := c.command(c.urls, "member", "remove", "n9").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), `no member of the group is called "n9"`) {
		t.Errorf("a stranger is removed: %v\n%s", err, out)
	}
}

// members runs seine member and gives what it prints.
func (c *cluster) members(words ...string) string {
	c.t.Helper()
	out, err := c.command(c.urls, append([]string{"member"}, words...)...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("seine member %s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return string(out)
}

// endsRemoved waits until a node has ended because it was taken out.
func (c *cluster) endsRemoved(d *daemon) {
	c.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(30 * time.Second):
		c.t.Fatalf("%s still runs 30 s after it was removed", d.name())
	}
	text, err := os.ReadFile(d.log)
	if code := d.cmd.ProcessState.ExitCode(); err != nil || code != 9 ||
		!strings.Contains(string(text), "has taken this node out") {
		c.t.Errorf("%s ended with code %d: %v\n%s", d.name(), code, err, text)
	}
}
