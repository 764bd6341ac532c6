package tasklog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"testing"

	"seine/formats/tasklog"
)

// The model check runs two or three attempts at a task, step by step, in every order of their
// requests, with up to one answer lost, and looks after each run whether the log kept what the
// package promises. A step is one request to the log.

// registers are the log's store.
type registers map[string][]byte

var errLost = errors.New("answer lost")

// actor is an attempt that runs as a coroutine: it stops before each request to the log.
type actor struct {
	attempt tasklog.Attempt
	regs    registers
	pause   func() bool // yields; false: lose the answer of the request to come

	atOpen  tasklog.State // what Open returned
	opened  bool
	sealed  []tasklog.Chunk // whose Append was answered by success
	refused []tasklog.Chunk // whose Append was answered by ErrStaleAttempt or ErrEnded
	ended   bool
	err     error // what ended it early
}

func (a *actor) Get(_ context.Context, key string) ([]byte, error) {
	if !a.pause() {
		return nil, errLost
	}
	data, ok := a.regs[key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

func (a *actor) PutIfAbsent(_ context.Context, key string, data []byte) error {
	answered := a.pause()
	if _, ok := a.regs[key]; ok {
		return fs.ErrExist
	}
	a.regs[key] = bytes.Clone(data)
	if !answered {
		return errLost
	}
	return nil
}

func keyOf(n int) string { return fmt.Sprintf("log/%d", n) }

// until repeats what a correct caller repeats: an operation whose answer was lost.
func until(op func() error) (err error) {
	for range 3 {
		if err = op(); !errors.Is(err, errLost) {
			return err
		}
	}
	return err
}

// run is the life of an attempt: open, so many chunks, end; below 0 chunks, only open.
func (a *actor) run(chunks int) {
	ctx := context.Background()
	var w *tasklog.Writer
	a.err = until(func() (err error) {
		w, a.atOpen, err = tasklog.Open(ctx, a, keyOf, a.attempt)
		return err
	})
	if a.err != nil {
		return
	}
	a.opened = true
	if chunks < 0 {
		return
	}
	for seq := range chunks {
		c := chunk(a.attempt, seq)
		a.err = until(func() error { return w.Append(ctx, c) })
		if a.err != nil {
			a.refused = append(a.refused, c)
			return
		}
		a.sealed = append(a.sealed, c)
	}
	a.err = until(func() error { return w.End(ctx, tasklog.End{}) })
	a.ended = a.err == nil
}

// execute runs actors under a schedule: a list of decisions, each the choice of an actor that
// may go, or of losing its answer. It returns the decisions that were open at each step.
func execute(actors []*actor, chunks, lost int, schedule []int) (options []int) {
	type coroutine struct {
		next func() (bool, bool)
		stop func()
		lose *bool
	}
	var live []coroutine
	for _, a := range actors {
		lose := new(bool)
		next, stop := iter.Pull(func(yield func(bool) bool) {
			a.pause = func() bool { yield(true); answered := !*lose; *lose = false; return answered }
			a.run(chunks)
		})
		defer stop()
		if _, ok := next(); ok {
			live = append(live, coroutine{next, stop, lose})
		}
	}
	for step := 0; len(live) > 0; step++ {
		open := len(live)
		if lost > 0 {
			open *= 2
		}
		options = append(options, open)
		choice := 0
		if step < len(schedule) {
			choice = schedule[step]
		}
		c := live[choice%len(live)]
		if choice >= len(live) {
			*c.lose = true
			lost--
		}
		if _, ok := c.next(); !ok {
			live = append(live[:choice%len(live)], live[choice%len(live)+1:]...)
		}
	}
	return options
}

// checkAll runs every schedule, depth first, and returns how many there are.
func checkAll(t *testing.T, attempts []tasklog.Attempt, chunks, lost int) int {
	var schedule []int
	for n := 1; ; n++ {
		regs := registers{}
		var actors []*actor
		for _, a := range attempts {
			actors = append(actors, &actor{attempt: a, regs: regs})
		}
		options := execute(actors, chunks, lost, schedule)
		if err := verify(actors, regs); err != nil {
			t.Errorf("schedule %v: %v", schedule, err)
			return n
		}
		for len(schedule) < len(options) {
			schedule = append(schedule, 0)
		}
		i := len(schedule) - 1
		for i >= 0 && schedule[i]+1 >= options[i] {
			i--
		}
		if i < 0 {
			return n
		}
		schedule = append(schedule[:i:i], schedule[i]+1)
	}
}

// verify looks for a broken promise.
func verify(actors []*actor, regs registers) error {
	log := &actor{regs: regs, pause: func() bool { return true }}
	final, err := tasklog.Read(context.Background(), log, keyOf)
	if err != nil {
		return err
	}
	if final.Next != len(regs) {
		return fmt.Errorf("%d entries, of which %d can be reached", len(regs), final.Next)
	}
	counted := map[string]int{}
	for _, c := range final.Chunks {
		counted[id(c)]++
	}
	for k, n := range counted {
		if n > 1 {
			return fmt.Errorf("chunk %s counts %d times", k, n)
		}
	}
	ends := 0
	for _, a := range actors {
		if err := verifyActor(a, final, counted); err != nil {
			return fmt.Errorf("attempt %s: %w", a.attempt, err)
		}
		if a.ended {
			ends++
		}
	}
	if ends > 1 || ends == 1 && final.End == nil {
		return fmt.Errorf("%d attempts ended the task, end %v", ends, final.End)
	}
	if final.End != nil && fmt.Sprint(ids(final.End.Chunks)) != fmt.Sprint(ids(final.Chunks)) {
		return fmt.Errorf("end names %v, but %v count", ids(final.End.Chunks), ids(final.Chunks))
	}
	return nil
}

func verifyActor(a *actor, final tasklog.State, counted map[string]int) error {
	for _, c := range a.sealed {
		if counted[id(c)] != 1 {
			return fmt.Errorf("chunk %s was acknowledged and does not count", id(c))
		}
	}
	for _, c := range a.refused {
		if errors.Is(a.err, tasklog.ErrStaleAttempt) && counted[id(c)] != 0 {
			return fmt.Errorf("chunk %s was refused and counts", id(c))
		}
	}
	if !a.opened {
		if !errors.Is(a.err, tasklog.ErrStaleAttempt) {
			return fmt.Errorf("did not open: %w", a.err)
		}
		return nil
	}
	if a.err != nil && !errors.Is(a.err, tasklog.ErrStaleAttempt) &&
		!errors.Is(a.err, tasklog.ErrEnded) {
		return a.err
	}
	known := map[string]bool{}
	for _, c := range a.atOpen.Chunks {
		known[id(c)] = true
	}
	for _, c := range final.Chunks {
		if c.Attempt.Less(a.attempt) && !known[id(c)] {
			return fmt.Errorf("chunk %s of a fenced attempt began to count after open", id(c))
		}
	}
	return nil
}

func id(c tasklog.Chunk) string { return fmt.Sprintf("%s/%d", c.Attempt, c.Seq) }

func ids(chunks []tasklog.Chunk) (out []string) {
	for _, c := range chunks {
		out = append(out, id(c))
	}
	return out
}

func TestEveryInterleaving(t *testing.T) {
	third := tasklog.Attempt{Epoch: 2, N: 1}
	for _, test := range []struct {
		name     string
		attempts []tasklog.Attempt
		chunks   int
		lost     int
		least    int // schedules: the check must not become empty
	}{
		{"two attempts, two chunks", []tasklog.Attempt{first, second}, 2, 0, 200},
		{"two attempts, one chunk, an answer lost", []tasklog.Attempt{first, second}, 1, 1, 1000},
		{"three attempts open", []tasklog.Attempt{second, first, third}, -1, 0, 50},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := checkAll(t, test.attempts, test.chunks, test.lost)
			t.Logf("%d schedules", n)
			if n < test.least {
				t.Errorf("only %d schedules, want at least %d", n, test.least)
			}
		})
	}
}
