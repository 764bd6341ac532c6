package tasklog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Log is where entries are kept: registers that are written once. Get of a missing key answers
// with an error that matches fs.ErrNotExist; PutIfAbsent of a key that is set with one that
// matches fs.ErrExist, and changes nothing. Any other error leaves open whether it happened.
type Log interface {
	Get(ctx context.Context, key string) ([]byte, error)
	PutIfAbsent(ctx context.Context, key string, data []byte) error
}

// State is what a log says.
type State struct {
	Highest Attempt // the newest that opened; zero in an empty log
	Chunks  []Chunk // those that count, in the log's order
	End     *End    // nil until the task is done
	EndedBy Attempt // whose End it is
	Next    int     // the first free number
	Ignored int     // entries that do not count: of fenced attempts, repeated, after the end
}

// Replay says what a log's entries, from number 0 on, mean.
func Replay(entries []Entry) State {
	var s State
	for _, e := range entries {
		s.apply(e)
	}
	return s
}

// apply adds the next entry. Entries that no correct writer puts are ignored, not believed: the
// guarantees to readers then need no trust in writers.
func (s *State) apply(e Entry) {
	s.Next++
	switch {
	case e.Kind == KindOpen && s.Highest.Less(e.Attempt):
		s.Highest = e.Attempt
	case e.Attempt != s.Highest, e.Kind == KindOpen, s.End != nil:
		s.Ignored++
	case e.Kind == KindChunk && s.has(e.Attempt, e.Chunk.Seq):
		s.Ignored++
	case e.Kind == KindChunk:
		s.Chunks = append(s.Chunks, *e.Chunk)
	case e.Kind == KindEnd:
		s.End, s.EndedBy = e.End, e.Attempt
	}
}

func (s *State) has(a Attempt, seq int) bool {
	for _, c := range s.Chunks {
		if c.Attempt == a && c.Seq == seq {
			return true
		}
	}
	return false
}

// Read reads a whole log: one Get an entry, and one that finds none.
func Read(ctx context.Context, log Log, keyOf func(n int) string) (State, error) {
	var s State
	for {
		key := keyOf(s.Next)
		data, err := log.Get(ctx, key)
		if errors.Is(err, fs.ErrNotExist) {
			return s, nil
		}
		if err != nil {
			return State{}, fmt.Errorf("read task log: %w", err)
		}
		e, err := Decode(key, data)
		if err != nil {
			return State{}, err
		}
		s.apply(e)
	}
}
