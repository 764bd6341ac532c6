package http1

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

const (
	// scratchKept is how many files wait to be used again: making one costs more than filling it.
	scratchKept = 64
	// scratchSpace is what a waiting file may hold of the disk.
	scratchSpace = 1 << 20
)

// scratch lends files for bodies. A file has no name by the time it is written to, where the system
// allows that, so that a crash leaves none behind.
type scratch struct {
	dir  string
	mu   sync.Mutex
	free []*scratchFile
}

type scratchFile struct {
	*os.File
	named bool // it still has a name to remove
}

// take returns a file whose old bytes mean nothing.
func (s *scratch) take() (*scratchFile, error) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		f := s.free[n-1]
		s.free = s.free[:n-1]
		s.mu.Unlock()
		return f, nil
	}
	s.mu.Unlock()
	f, err := os.CreateTemp(s.dir, "body-*")
	if err != nil {
		return nil, fmt.Errorf("spill body: %w", err)
	}
	return &scratchFile{File: f, named: os.Remove(f.Name()) != nil}, nil
}

// put takes back a file in which size bytes were written.
func (s *scratch) put(f *scratchFile, size int64) error {
	if size > scratchSpace {
		if err := f.Truncate(0); err != nil {
			return errors.Join(err, f.discard())
		}
	}
	s.mu.Lock()
	keep := len(s.free) < scratchKept
	if keep {
		s.free = append(s.free, f)
	}
	s.mu.Unlock()
	if keep {
		return nil
	}
	return f.discard()
}

// clear gives back what waits.
func (s *scratch) clear() {
	s.mu.Lock()
	free := s.free
	s.free = nil
	s.mu.Unlock()
	for _, f := range free {
		_ = f.discard()
	}
}

func (f *scratchFile) discard() error {
	err := f.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
