package tasklog_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/formats/tasklog"
)

// open opens the log as an attempt, or ends the test.
func open(t *testing.T, log tasklog.Log, a tasklog.Attempt) (*tasklog.Writer, tasklog.State) {
	t.Helper()
	w, state, err := tasklog.Open(t.Context(), log, keyOf, a)
	if err != nil {
		t.Fatal(err)
	}
	return w, state
}

// insist repeats an operation while the store is away.
func insist(op func() error) error {
	for {
		if err := op(); !errors.Is(err, objstore.ErrUnavailable) {
			return err
		}
	}
}

// TestFaultAtEveryOperation runs two attempts, one after the other, with one fault.
func TestFaultAtEveryOperation(t *testing.T) {
	clean := fault.New(mem.New(), nil)
	want := twoAttempts(t, clean)
	if len(want.Chunks) != 3 || want.End == nil || want.Next != 6 {
		t.Fatalf("without faults: %+v", want)
	}
	for _, f := range []fault.Fault{{Before: objstore.ErrUnavailable},
		{After: objstore.ErrUnavailable}} {
		for n := range clean.Ops() {
			got := twoAttempts(t, fault.New(mem.New(), fault.At(n, f)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fault %+v at %s (-want +got):\n%s", f, clean.Ops()[n], diff)
			}
		}
	}
}

func twoAttempts(t *testing.T, s objstore.Store) (final tasklog.State) {
	t.Helper()
	ctx, log := t.Context(), objstore.WriteOnce{Store: s}
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	var w *tasklog.Writer
	start := func(a tasklog.Attempt) {
		check(insist(func() (err error) { w, _, err = tasklog.Open(ctx, log, keyOf, a); return err }))
	}
	start(first)
	check(insist(func() error { return w.Append(ctx, chunk(first, 0)) }))
	start(second)
	check(insist(func() error { return w.Append(ctx, chunk(second, 0)) }))
	check(insist(func() error { return w.Append(ctx, chunk(second, 1)) }))
	check(insist(func() error { return w.End(ctx, tasklog.End{Counts: map[string]int64{"ok": 3}}) }))
	check(insist(func() (err error) { final, err = tasklog.Read(ctx, log, keyOf); return err }))
	return final
}

func TestStaleWriterStops(t *testing.T) {
	log := objstore.WriteOnce{Store: mem.New()}
	old, _ := open(t, log, first)
	if err := old.Append(t.Context(), chunk(first, 0)); err != nil {
		t.Fatal(err)
	}
	_, state := open(t, log, second)
	if len(state.Chunks) != 1 || state.Highest != second || state.Next != 3 {
		t.Errorf("the second attempt finds %+v", state)
	}
	for range 2 {
		err := old.Append(t.Context(), chunk(first, 1))
		if !errors.Is(err, tasklog.ErrStaleAttempt) {
			t.Errorf("append: got %v, want ErrStaleAttempt", err)
		}
	}
	if err := old.End(t.Context(), tasklog.End{}); !errors.Is(err, tasklog.ErrStaleAttempt) {
		t.Errorf("end: got %v, want ErrStaleAttempt", err)
	}
	for _, a := range []tasklog.Attempt{first, {N: 99}} {
		_, _, err := tasklog.Open(t.Context(), log, keyOf, a)
		if !errors.Is(err, tasklog.ErrStaleAttempt) {
			t.Errorf("open as %s: got %v, want ErrStaleAttempt", a, err)
		}
	}
}

func TestOpenAgain(t *testing.T) {
	log := objstore.WriteOnce{Store: mem.New()}
	open(t, log, first)
	w, state := open(t, log, first) // as after a lost answer
	if state.Next != 1 {
		t.Errorf("opened twice: next is %d", state.Next)
	}
	if err := w.Append(t.Context(), chunk(first, 0)); err != nil {
		t.Fatal(err)
	}
	_, _, err := tasklog.Open(t.Context(), log, keyOf, first)
	if !errors.Is(err, tasklog.ErrStaleAttempt) {
		t.Errorf("an attempt that has a chunk began again: %v", err)
	}
}

func TestAnEndedTask(t *testing.T) {
	log := objstore.WriteOnce{Store: mem.New()}
	w, _ := open(t, log, first)
	if err := w.Append(t.Context(), chunk(first, 0)); err != nil {
		t.Fatal(err)
	}
	if err := w.End(t.Context(), tasklog.End{Chunks: []tasklog.Chunk{chunk(second, 9)}}); err != nil {
		t.Fatal(err)
	}
	next, state := open(t, log, second)
	if state.End == nil || state.EndedBy != first || state.Highest != second {
		t.Fatalf("the next attempt finds %+v", state)
	}
	if diff := cmp.Diff([]tasklog.Chunk{chunk(first, 0)}, state.End.Chunks); diff != "" {
		t.Errorf("end's chunks are the log's (-want +got):\n%s", diff)
	}
	for name, err := range map[string]error{
		"append": next.Append(t.Context(), chunk(second, 0)),
		"end":    next.End(t.Context(), tasklog.End{}),
		"again":  w.End(t.Context(), tasklog.End{}),
	} {
		if !errors.Is(err, tasklog.ErrEnded) {
			t.Errorf("%s: got %v, want ErrEnded", name, err)
		}
	}
}

func TestAnUndecidedChunkComesFirst(t *testing.T) {
	s := fault.New(mem.New(), nil)
	log := objstore.WriteOnce{Store: s}
	w, _ := open(t, log, first)
	s.SetPlan(fault.Times(1, fault.When(func(op fault.Op) bool { return op.Kind == objstore.OpPut },
		fault.Fault{After: objstore.ErrUnavailable})))
	if err := w.Append(t.Context(), chunk(first, 0)); !errors.Is(err, objstore.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if err := w.Append(t.Context(), chunk(first, 1)); err == nil {
		t.Error("another chunk was taken while the first was undecided")
	}
	if err := w.Append(t.Context(), chunk(first, 0)); err != nil {
		t.Error(err)
	}
	if err := w.Append(t.Context(), chunk(first, 0)); err == nil {
		t.Error("a number was taken twice")
	}
	if got := w.State(); len(got.Chunks) != 1 || got.Next != 2 {
		t.Errorf("state is %+v", got)
	}
}

func TestCorruptEntry(t *testing.T) {
	s := mem.New()
	log := objstore.WriteOnce{Store: s}
	w, _ := open(t, log, first)
	if err := objstore.PutIfAbsent(t.Context(), s, keyOf(1), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	_, readErr := tasklog.Read(t.Context(), log, keyOf)
	_, _, openErr := tasklog.Open(t.Context(), log, keyOf, second)
	for name, err := range map[string]error{
		"read":   readErr,
		"open":   openErr,
		"append": w.Append(t.Context(), chunk(first, 0)),
	} {
		if !errors.Is(err, tasklog.ErrCorrupt) || !strings.Contains(err.Error(), keyOf(1)) {
			t.Errorf("%s: got %v, want ErrCorrupt that names the entry", name, err)
		}
	}
}

func TestReplayBelievesNoWriter(t *testing.T) {
	for _, test := range []struct {
		name    string
		entries []tasklog.Entry
		want    tasklog.State
	}{
		{"nothing", nil, tasklog.State{}},
		{"a chunk", []tasklog.Entry{openEntry(first), chunkEntry(first, 0)},
			tasklog.State{Highest: first, Chunks: []tasklog.Chunk{chunk(first, 0)}, Next: 2}},
		{"a fenced chunk", []tasklog.Entry{openEntry(first), openEntry(second), chunkEntry(first, 0)},
			tasklog.State{Highest: second, Next: 3, Ignored: 1}},
		{"a fenced end", []tasklog.Entry{openEntry(first), openEntry(second), endEntry(first)},
			tasklog.State{Highest: second, Next: 3, Ignored: 1}},
		{"not opened", []tasklog.Entry{chunkEntry(first, 0)}, tasklog.State{Next: 1, Ignored: 1}},
		{"twice", []tasklog.Entry{openEntry(first), chunkEntry(first, 0), chunkEntry(first, 0)},
			tasklog.State{Highest: first, Chunks: []tasklog.Chunk{chunk(first, 0)}, Next: 3, Ignored: 1}},
		{"an older open", []tasklog.Entry{openEntry(second), openEntry(first), chunkEntry(second, 0)},
			tasklog.State{Highest: second, Chunks: []tasklog.Chunk{chunk(second, 0)}, Next: 3, Ignored: 1}},
		{"after the end", []tasklog.Entry{openEntry(first), endEntry(first), openEntry(second),
			chunkEntry(second, 0), endEntry(second)},
			tasklog.State{Highest: second, End: endEntry(first).End, EndedBy: first, Next: 5, Ignored: 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, tasklog.Replay(test.entries)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := tasklog.Open(ctx, objstore.WriteOnce{Store: mem.New()}, keyOf, first)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
