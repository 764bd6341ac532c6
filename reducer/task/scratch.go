package task

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"seine/formats/layout"
	"seine/formats/objstore"
)

// scratchFile is a file that nobody else sees and that vanishes with its
// process: it is unlinked as soon as it is open.
type scratchFile struct {
	*bufio.Writer
	file *os.File
}

// scratchBuffer is how many bytes a scratch file gathers before it writes.
const scratchBuffer = 64 << 10

func newScratch(dir, name string) (*scratchFile, error) {
	f, err := os.CreateTemp(dir, name+"-*")
	if err != nil {
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	return &scratchFile{bufio.NewWriterSize(f, scratchBuffer), f}, nil
}

// size flushes and returns the bytes written.
func (s *scratchFile) size() (int64, error) {
	if err := s.Flush(); err != nil {
		return 0, fmt.Errorf("scratch file: %w", err)
	}
	info, err := s.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("scratch file: %w", err)
	}
	return info.Size(), nil
}

// put stores the file under key and closes it. The key names the attempt, and
// a task is a function, so what is there already is taken if it is the same.
func (s *scratchFile) put(ctx context.Context, store objstore.Store, key layout.Key) error {
	defer s.close()
	size, err := s.size()
	if err != nil {
		return err
	}
	o := objstore.PutOptions{IfAbsent: true, Same: true}
	if err := store.Put(ctx, key, objstore.File(s.file, size), o); err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return nil
}

// close drops the file; its bytes are gone or stored, so an error says nothing.
func (s *scratchFile) close() { _ = s.file.Close() }
