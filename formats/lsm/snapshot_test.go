package lsm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"seine/formats/layout"
)

// log is commits in memory, and how often it was asked.
type log struct {
	objects memory
	gets    int
	truth   []*Manifest
}

func (l *log) source() Source {
	return Source{
		Get: func(_ context.Context, key layout.Key) ([]byte, error) {
			l.gets++
			if b, ok := l.objects[key]; ok {
				return b, nil
			}
			return nil, fs.ErrNotExist
		},
		Missing: func(err error) bool { return errors.Is(err, fs.ErrNotExist) },
	}
}

func newLog(t *testing.T, n int) *log {
	l := &log{objects: memory{}, truth: []*Manifest{Empty()}}
	for i := range n {
		m := l.truth[i]
		e := Edit{AddRuns: map[string]Run{"urls": {ID: fmt.Sprintf("r%d", i), Seq: uint64(i)}}, KnownDelta: 2}
		if i%5 == 4 {
			e.RemoveRuns = map[string][]string{"urls": {fmt.Sprintf("r%d", i-2), fmt.Sprintf("r%d", i-3)}}
		}
		c, err := m.NewCommit(Commit{Job: uint64(i + 1), Kind: "round", Now: int64(i), Edit: e})
		if err != nil {
			t.Fatal(err)
		}
		if whole := c.N == 1 || c.N%WholeEvery == 0; whole != (c.Whole != nil) {
			t.Errorf("commit %d carries the whole manifest: %v", c.N, c.Whole != nil)
		}
		b, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		l.objects[layout.Commit(c.N)] = b
		next, err := m.Apply(c)
		if err != nil {
			t.Fatal(err)
		}
		l.truth = append(l.truth, next)
	}
	return l
}

func same(t *testing.T, what string, want, got *Manifest, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	a, _ := (&Commit{Format: 1, Whole: want}).Encode()
	b, _ := (&Commit{Format: 1, Whole: got}).Encode()
	if d := cmp.Diff(string(a), string(b)); d != "" {
		t.Errorf("%s (-want +got):\n%.800s", what, d)
	}
}

func TestEverySnapshotIsFound(t *testing.T) {
	ctx := context.Background()
	l := newLog(t, 50)
	for n, want := range l.truth {
		got, err := At(ctx, l.source(), uint64(n))
		same(t, fmt.Sprintf("At(%d)", n), want, got, err)
		got, err = Head(ctx, l.source(), want)
		same(t, fmt.Sprintf("Head from %d", n), l.truth[50], got, err)
	}
	for _, n := range []int{0, 1, 2, 15, 16, 17, 50} {
		some := newLog(t, n)
		for _, hint := range []string{"", "0", "1\n", "16", "50", "777", "rubbish"} {
			if some.objects[layout.Latest] = []byte(hint); hint == "" {
				delete(some.objects, layout.Latest)
			}
			got, err := Head(ctx, some.source(), nil)
			same(t, fmt.Sprintf("Head of %d, hint %q", n, hint), some.truth[n], got, err)
		}
	}
	l.objects[layout.Latest] = Hint(50)
	l.gets = 0
	if _, err := Head(ctx, l.source(), nil); err != nil || l.gets > 7 {
		t.Errorf("%d requests with a hint, %v", l.gets, err)
	}
	l.gets = 0
	if _, err := Head(ctx, l.source(), l.truth[50]); err != nil || l.gets != 1 {
		t.Errorf("%d requests from the head, %v", l.gets, err)
	}
}

func TestBrokenLogs(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		damage func(m memory)
		says   string
	}{
		{"gap", func(m memory) { delete(m, layout.Commit(18)) }, "commits/0000000018 is missing"},
		{"whole manifest gone", func(m memory) { delete(m, layout.Commit(16)) }, "commits/0000000016 is missing"},
		{"rubbish", func(m memory) { m[layout.Commit(18)] = []byte("{") }, "damaged commit"},
		{"another's number", func(m memory) { m[layout.Commit(18)] = m[layout.Commit(17)] }, "it is commit 17"},
		{"newer format", func(m memory) { m[layout.Commit(18)] = []byte(`{"format":9,"n":18}`) }, "use a newer seine"},
		{"impossible edit", func(m memory) {
			m[layout.Commit(18)] = []byte(`{"format":1,"n":18,"edit":{"remove_runs":{"urls":["x"]}}}`)
		}, "removes run x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLog(t, 20)
			l.objects[layout.Latest] = Hint(20)
			c.damage(l.objects)
			if _, err := Head(ctx, l.source(), nil); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Head: %v, want an error with %q", err, c.says)
			}
			if _, err := At(ctx, l.source(), 19); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("At: %v, want an error with %q", err, c.says)
			}
		})
	}
	l := newLog(t, 3)
	src := l.source()
	src.Get = func(context.Context, layout.Key) ([]byte, error) { return nil, errors.New("store away") }
	if _, err := Head(ctx, src, nil); err == nil {
		t.Error("a store that does not answer is an empty crawl")
	}
}
