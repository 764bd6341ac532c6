package tasklog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

var (
	// ErrStaleAttempt: the log holds a higher attempt. Whoever meets it stops: nothing that it
	// puts can count any more.
	ErrStaleAttempt = errors.New("a newer attempt has the task")
	// ErrEnded: the log has an end. There is nothing left to do but to report it.
	ErrEnded = errors.New("the task has ended")
)

// Writer puts an attempt's entries.
type Writer struct {
	log     Log
	keyOf   func(n int) string
	attempt Attempt
	state   State
	stale   bool
	pending []byte // the entry whose put was answered by neither yes nor no
}

// Open reads the log and puts the attempt's open entry. When it returns, all lower
// attempts are fenced, and the State is all that they achieved. If that has an End, the task is
// done. An Open that failed may be repeated with the same attempt as long as that attempt
// has no chunk.
func Open(ctx context.Context, log Log, keyOf func(n int) string, attempt Attempt) (
	*Writer, State, error) {
	state, err := Read(ctx, log, keyOf)
	if err != nil {
		return nil, State{}, err
	}
	w := &Writer{log: log, keyOf: keyOf, attempt: attempt, state: state}
	if state.Highest == attempt && !state.touched(attempt) {
		return w, w.State(), nil // our own open, whose answer was lost
	}
	if !state.Highest.Less(attempt) {
		return nil, State{}, fmt.Errorf("open task log as %s: %s has opened it: %w",
			attempt, state.Highest, ErrStaleAttempt)
	}
	if err := w.put(ctx, Entry{Kind: KindOpen, Attempt: attempt}); err != nil {
		return nil, State{}, fmt.Errorf("open task log as %s: %w", attempt, err)
	}
	return w, w.State(), nil
}

// touched says whether the attempt has done anything but to open the log.
func (s *State) touched(a Attempt) bool {
	return s.EndedBy == a ||
		slices.ContainsFunc(s.Chunks, func(c Chunk) bool { return c.Attempt == a })
}

// State is what the log says, as far as this writer has read and written it.
func (w *Writer) State() State {
	s := w.state
	s.Chunks = slices.Clone(s.Chunks)
	return s
}

// Attempt is the writer's.
func (w *Writer) Attempt() Attempt { return w.attempt }

// Append makes a chunk count. Its objects must be in the store already. After an error that is
// not ErrStaleAttempt or ErrEnded it is open whether the chunk counts: the only thing to do then
// is to append the very same chunk again, until there is an answer.
func (w *Writer) Append(ctx context.Context, c Chunk) error {
	c.Attempt = w.attempt
	if w.state.has(w.attempt, c.Seq) {
		return fmt.Errorf("append chunk %d of %s: that number is taken", c.Seq, w.attempt)
	}
	if err := w.put(ctx, Entry{Kind: KindChunk, Attempt: w.attempt, Chunk: &c}); err != nil {
		return fmt.Errorf("append chunk %d of %s: %w", c.Seq, w.attempt, err)
	}
	return nil
}

// End closes the log: end.Chunks is filled in. Errors are as Append's.
func (w *Writer) End(ctx context.Context, end End) error {
	end.Chunks = slices.Clone(w.state.Chunks)
	if err := w.put(ctx, Entry{Kind: KindEnd, Attempt: w.attempt, End: &end}); err != nil {
		return fmt.Errorf("end task log as %s: %w", w.attempt, err)
	}
	return nil
}

// put puts the entry at the first free number, taking in what it meets on the way.
func (w *Writer) put(ctx context.Context, e Entry) error {
	data, err := Encode(e)
	if err != nil {
		return err
	}
	if w.stale {
		return ErrStaleAttempt
	}
	if w.state.End != nil && e.Kind != KindOpen {
		return ErrEnded
	}
	if w.pending != nil && !bytes.Equal(w.pending, data) {
		return fmt.Errorf("entry %d is still undecided: repeat it first", w.state.Next)
	}
	w.pending = data
	for {
		key := w.keyOf(w.state.Next)
		err := w.log.PutIfAbsent(ctx, key, data)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if ours, err := w.meet(ctx, key, data); err != nil {
			return err
		} else if ours {
			break
		}
	}
	w.pending = nil
	w.state.apply(e)
	return nil
}

// meet reads the entry that holds the number we wanted. It is ours if an earlier try of the
// same put was answered to nobody. A lower attempt's is taken in: it won its number before our
// open did. A higher attempt's ends this one.
func (w *Writer) meet(ctx context.Context, key string, data []byte) (ours bool, err error) {
	there, err := w.log.Get(ctx, key)
	if err != nil {
		return false, fmt.Errorf("read the entry in our place: %w", err)
	}
	if bytes.Equal(there, data) {
		return true, nil
	}
	e, err := Decode(key, there)
	if err != nil {
		return false, err
	}
	if w.attempt.Less(e.Attempt) {
		w.stale, w.pending = true, nil
		return false, fmt.Errorf("%s is of attempt %s: %w", key, e.Attempt, ErrStaleAttempt)
	}
	if e.Attempt == w.attempt {
		return false, fmt.Errorf("%s is ours, but not what we put: attempt %s has two writers",
			key, w.attempt)
	}
	w.state.apply(e)
	return false, nil
}
