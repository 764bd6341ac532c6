// Package spool keeps the outcomes of a fetch task on the worker's scratch disk between the
// exchange and the moment when a chunk of them counts, so that a killed process asks no web
// server twice for what it has already got.
//
//	SCRATCH/r000012-t0003/          one folder a task
//	    lock                        flock: one process has the spool
//	    00000001.spool              a generation: header, then records
//	    00000002.spool
//	    working, 00000001.died      what is worked on, and was at deaths: see Working
//
// A record is length and CRC-32C of its payload, then the payload, appended in one write: after
// a kill at any moment a file is whole records and at most one torn one at its end. What is torn
// is as if it had never been appended. The guarantee is against the death of the process, not of
// the machine: nothing is synced, because what is lost with a machine is only asked for again.
//
// Appends go to the newest generation. Rotate begins the next one while a chunk is made of those
// before, and Drop removes those once the chunk counts. Between the chunk's entry and Drop a kill
// leaves records that already count: who replays must ask the task's log first.
//
// A Spool may be used by many goroutines. It starts none.
package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

var (
	// ErrFull: the spool has reached its bound, or the disk has. Nothing was appended. Seal a
	// chunk, then go on.
	ErrFull = errors.New("spool is full")
	// ErrBusy: another process, or another Spool of this one, has the task's spool.
	ErrBusy = errors.New("spool is in use")
)

const (
	suffix   = ".spool"
	lockName = "lock"
)

// generation is a file of records.
type generation struct {
	number uint64
	size   int64 // bytes, header included
}

// Spool is a task's spool, held by this process. Make one with Open.
type Spool struct {
	dir      string
	maxBytes int64
	lock     *os.File
	working  slots

	mu      sync.Mutex
	older   []generation // ascending, read-only
	current generation
	file    *os.File // of current, nil until the first append
	broken  error    // why nothing can be appended to current any more
	closed  bool
	buf     []byte
}

// Open takes over the spool of the task id (a file name, such as round and task) in dir, or
// begins one. What an earlier process left is there to Replay; new records never touch its
// files. All generations together are bounded by maxBytes. ErrBusy if the spool is held.
func Open(dir, id string, maxBytes int64) (*Spool, error) {
	if id == "" || id[0] == '.' || filepath.Base(id) != id {
		return nil, fmt.Errorf("open spool: %q is not a file name", id)
	}
	s := &Spool{dir: filepath.Join(dir, id), maxBytes: maxBytes}
	if err := s.hold(); err != nil {
		return nil, fmt.Errorf("open spool %s: %w", s.dir, err)
	}
	if err := errors.Join(s.scan(), s.bury()); err != nil {
		return nil, errors.Join(fmt.Errorf("open spool %s: %w", s.dir, err), s.lock.Close())
	}
	return s, nil
}

// hold creates the folder and locks it. Remove unlinks the lock while it is held, so a lock
// counts only if it is still the file at its path.
func (s *Spool) hold() error {
	path := filepath.Join(s.dir, lockName)
	for {
		if err := os.MkdirAll(s.dir, 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed under our hands
		}
		if err != nil {
			return err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			if errors.Is(err, syscall.EWOULDBLOCK) {
				err = ErrBusy
			}
			return errors.Join(err, f.Close())
		}
		ours, err := f.Stat()
		if err != nil {
			return errors.Join(err, f.Close())
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(ours, there) {
			s.lock = f
			return nil
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
}

// scan finds the generations that are there.
func (s *Spool) scan() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		number, err := strconv.ParseUint(name, 10, 64)
		if !ok || err != nil || s.path(number) != filepath.Join(s.dir, e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		s.older = append(s.older, generation{number, info.Size()})
	}
	slices.SortFunc(s.older, func(a, b generation) int { return cmp.Compare(a.number, b.number) })
	s.current.number = 1
	if n := len(s.older); n > 0 {
		s.current.number = s.older[n-1].number + 1
	}
	return nil
}

func (s *Spool) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%08d%s", number, suffix))
}

// Bytes is what the spool holds on disk, in bytes.
func (s *Spool) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes()
}

func (s *Spool) bytes() int64 {
	total := s.current.size
	for _, g := range s.older {
		total += g.size
	}
	return total
}

// Rotate begins a new generation. It returns the last one before: what Replay now delivers up to
// there may be sealed and then dropped, while appends go on.
func (s *Spool) Rotate() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, s.broken
	}
	before := s.current.number
	if s.file != nil {
		if err := s.file.Close(); err != nil {
			return 0, fmt.Errorf("rotate spool %s: %w", s.dir, err)
		}
		s.older = append(s.older, s.current)
		s.file = nil
	}
	s.current, s.broken = generation{number: before + 1}, nil
	return before, nil
}

// Oldest is the number of the oldest generation before the newest; ok is false when there is none.
// Generations are begun as often as a chunk is to be made: one of them fits into memory when all of
// them may not.
func (s *Spool) Oldest() (number uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.older) == 0 {
		return 0, false
	}
	return s.older[0].number, true
}

// Drop removes all generations up to and including the one numbered upTo, oldest first. The
// newest is never dropped: Rotate first.
func (s *Spool) Drop(upTo uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.older) > 0 && s.older[0].number <= upTo {
		err := os.Remove(s.path(s.older[0].number))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("drop spool: %w", err)
		}
		s.older = s.older[1:]
	}
	return nil
}

// Reset forgets everything: for a caller that does not append meanwhile.
func (s *Spool) Reset() error {
	upTo, err := s.Rotate()
	if err != nil {
		return err
	}
	return s.Drop(upTo)
}

// Close lets the spool go; its records stay for the next Open.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.close()
}

func (s *Spool) close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	errs := []error{s.working.close(filepath.Join(s.dir, workingName))}
	if s.file != nil {
		errs = append(errs, s.file.Close())
		s.older = append(s.older, s.current)
		s.file, s.current = nil, generation{number: s.current.number + 1}
	}
	s.broken = fmt.Errorf("spool %s: %w", s.dir, fs.ErrClosed)
	return errors.Join(append(errs, s.lock.Close())...)
}

// Remove deletes the spool and lets it go: the task has ended. The lock goes last, so that who
// opens the spool meanwhile finds it either held or gone.
func (s *Spool) Remove() error {
	if err := s.Reset(); err != nil {
		return fmt.Errorf("remove spool: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.removeWorking(); err != nil {
		return fmt.Errorf("remove spool: %w", err)
	}
	if err := os.Remove(filepath.Join(s.dir, lockName)); err != nil {
		return fmt.Errorf("remove spool: %w", err)
	}
	err := os.Remove(s.dir)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrNotExist) {
		err = nil // opened again already
	}
	if err := errors.Join(err, s.close()); err != nil {
		return fmt.Errorf("remove spool: %w", err)
	}
	return nil
}

// List gives the ids of the spools in dir, held or not: after a start, those of tasks that this
// worker has no more are opened and removed.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list spools: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(dir, e.Name(), lockName)); err == nil {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}
