package objstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Staged reads an object in blocks, which it keeps in a file: whoever goes through most of an
// object, column beside column, asks the store once for each block instead of once for each
// column's next pages. It may be used by many goroutines.
type Staged struct {
	src   io.ReaderAt
	size  int64
	block int64

	mu   sync.Mutex
	file *os.File
	have []bool // blocks that are in the file
}

// Staging says where objects are staged and in what blocks. The zero value stages nothing.
type Staging struct {
	Folder string // for files that nobody else sees
	// Block is the length of a request in bytes; as much memory is held while one is made.
	Block int64
}

// leastBlock is where blocks end being smaller: as much is over before a request is answered.
const leastBlock = 256 << 10

// Stage is src, of size bytes, staged where that saves requests. share is the part of the object
// that will be read, in (0, 1], in one piece of each column: blocks are as much smaller. Closing
// what it returns closes src; an error has closed it.
func (s Staging) Stage(src io.ReaderAt, size int64, share float64) (io.ReaderAt, error) {
	if s.Block == 0 || size <= leastBlock {
		return src, nil
	}
	file, err := os.CreateTemp(s.Folder, "staged-*")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("stage an object: %w", err), closeReader(src))
	}
	staged := newStaged(src, size, max(int64(share*float64(s.Block)), leastBlock), file)
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("stage an object: %w", err), staged.Close())
	}
	return staged, nil
}

// newStaged stages in file, which Close closes.
func newStaged(src io.ReaderAt, size, block int64, file *os.File) *Staged {
	return &Staged{src: src, size: size, block: block, file: file,
		have: make([]bool, (size+block-1)/block)}
}

// ReadAt reads from the file, after it has fetched what is missing there.
func (s *Staged) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= s.size {
		if off == s.size && len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := min(int64(len(p)), s.size-off)
	if err := s.fetch(off, n); err != nil {
		return 0, err
	}
	read, err := s.file.ReadAt(p[:n], off)
	if err != nil {
		return read, fmt.Errorf("staged object: %w", err)
	}
	if n < int64(len(p)) {
		return read, io.EOF
	}
	return read, nil
}

// fetch brings the blocks of a range into the file.
func (s *Staged) fetch(off, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b []byte
	for i := off / s.block; i*s.block < off+n; i++ {
		if s.have[i] {
			continue
		}
		from := i * s.block
		length := min(s.block, s.size-from)
		if b == nil {
			b = make([]byte, min(s.block, s.size))
		}
		if read, err := s.src.ReadAt(b[:length], from); int64(read) < length {
			return errors.Join(err, fmt.Errorf("%d bytes at %d: %w", length, from, io.ErrUnexpectedEOF))
		}
		if _, err := s.file.WriteAt(b[:length], from); err != nil {
			return fmt.Errorf("staged object: %w", err)
		}
		s.have[i] = true
	}
	return nil
}

// Close drops the file, and closes what is staged.
func (s *Staged) Close() error { return errors.Join(s.file.Close(), closeReader(s.src)) }

func closeReader(src io.ReaderAt) error {
	if c, ok := src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
