package http1

import (
	"fmt"
	"io"
	"os"
)

// A Spool is a body at rest: in memory up to a bound, then in a scratch file.
type Spool struct {
	scratch *scratch // nil: memory only
	file    *scratchFile
	flushed int64  // bytes in the file
	mem     []byte // what follows them
	bound   int
	err     error // what writing the file came to; this machine's trouble, not the server's
}

// newSpool holds bound bytes in memory, all without scratch. hint is how many are expected.
func newSpool(files *scratch, bound int, hint int64) *Spool {
	s := &Spool{scratch: files, bound: bound}
	if files != nil {
		hint = min(hint, int64(bound))
	}
	if hint > 0 {
		s.mem = make([]byte, 0, hint)
	}
	return s
}

// Size is the body's length in bytes.
func (s *Spool) Size() int64 { return s.flushed + int64(len(s.mem)) }

// ReadAt implements io.ReaderAt.
func (s *Spool) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("read body at %d: %w", off, os.ErrInvalid)
	}
	if off < s.flushed {
		part := p[:min(int64(len(p)), s.flushed-off)]
		if n, err = s.file.ReadAt(part, off); n < len(part) {
			return n, fmt.Errorf("read spilled body: %w", err)
		}
	}
	if at := off + int64(n) - s.flushed; at >= 0 && at < int64(len(s.mem)) {
		n += copy(p[n:], s.mem[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Reader reads the body from its start.
func (s *Spool) Reader() *io.SectionReader { return io.NewSectionReader(s, 0, s.Size()) }

// Bytes returns the whole body: the memory itself when nothing was spilled, else a copy.
func (s *Spool) Bytes() ([]byte, error) {
	if s.flushed == 0 {
		return s.mem, nil
	}
	b := make([]byte, s.Size())
	_, err := s.ReadAt(b, 0)
	return b, err
}

// Close frees the scratch. It may be called again.
func (s *Spool) Close() error {
	s.mem = nil
	if s.file == nil {
		return nil
	}
	err := s.scratch.put(s.file, s.flushed)
	s.file, s.flushed = nil, 0
	return err
}

// Write appends.
func (s *Spool) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		room, err := s.room()
		if err != nil {
			return written, err
		}
		n := copy(room, p)
		s.commit(n)
		written, p = written+n, p[n:]
	}
	return written, nil
}

const firstRoom = 4 << 10

// room returns space, never empty, for what comes next; commit says how much of it was used.
func (s *Spool) room() ([]byte, error) {
	if s.scratch != nil && len(s.mem) >= s.bound {
		if s.err == nil {
			s.err = s.flush()
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	if len(s.mem) == cap(s.mem) {
		size := max(2*cap(s.mem), firstRoom)
		if s.scratch != nil {
			size = min(size, s.bound)
		}
		grown := make([]byte, len(s.mem), size)
		copy(grown, s.mem)
		s.mem = grown
	}
	return s.mem[len(s.mem):cap(s.mem)], nil
}

func (s *Spool) commit(n int) { s.mem = s.mem[:len(s.mem)+n] }

// flush moves the memory to the end of the file.
func (s *Spool) flush() error {
	if s.file == nil {
		f, err := s.scratch.take()
		if err != nil {
			return err
		}
		s.file = f
	}
	if _, err := s.file.WriteAt(s.mem, s.flushed); err != nil {
		return fmt.Errorf("spill body: %w", err)
	}
	s.flushed += int64(len(s.mem))
	s.mem = s.mem[:0]
	return nil
}
