package raftnode

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"

	"seine/coordinator/state"
)

// fsm is the shim between Raft's log and state.Apply.
type fsm struct {
	mu    sync.RWMutex
	state *state.State

	failed  chan struct{} // closed when the log cannot be followed any more
	failure error         // set before
}

func newFSM() *fsm { return &fsm{state: state.New(), failed: make(chan struct{})} }

// applied is what Apply hands to the caller of raft.Apply.
type applied struct {
	result state.Result
	err    error
}

// Apply implements raft.FSM. After an entry that it does not know it follows the
// log no further: its state stays what all agreed on.
func (f *fsm) Apply(entry *raft.Log) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure != nil {
		return applied{err: f.failure}
	}
	var c state.Command
	err := json.Unmarshal(entry.Data, &c)
	if err != nil {
		err = fmt.Errorf("%w (%v)", state.ErrUnknown, err)
	}
	var r state.Result
	if err == nil {
		r, err = state.Apply(f.state, c)
	}
	if err != nil {
		f.fail(fmt.Errorf("entry %d: %w", entry.Index, err))
		return applied{err: f.failure}
	}
	return applied{result: r}
}

// fail ends the node, for the first reason that it has. The caller holds mu.
func (f *fsm) fail(err error) {
	if f.failure == nil {
		f.failure = err
		close(f.failed)
	}
}

// Snapshot implements raft.FSM. It is called between two entries.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.failure != nil {
		return nil, f.failure
	}
	b, err := f.state.Snapshot()
	return image(b), err
}

// Restore implements raft.FSM.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read a snapshot of the coordinator: %w", err)
	}
	s, err := state.Restore(b)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = s
	return nil
}

// image is a snapshot that has been written already.
type image []byte

// Persist implements raft.FSMSnapshot.
func (i image) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(i); err != nil {
		_ = sink.Cancel()
		return fmt.Errorf("write a snapshot of the coordinator: %w", err)
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (image) Release() {}
