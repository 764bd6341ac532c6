package objstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Body is what a put stores. It can be read many times, so that a put can be tried again.
type Body struct {
	r    io.ReaderAt
	size int64
}

// Bytes is a body in memory. The slice must not change until the put has returned.
func Bytes(b []byte) Body { return Body{bytes.NewReader(b), int64(len(b))} }

// File is a body of the first size bytes of a file. The file must not change or be closed
// until the put has returned.
func File(f *os.File, size int64) Body { return Body{f, size} }

// ReaderAt is a body of the first size bytes of r.
func ReaderAt(r io.ReaderAt, size int64) Body { return Body{r, size} }

// Size is the body's length in bytes.
func (b Body) Size() int64 { return b.size }

// Reader reads the body from its beginning.
func (b Body) Reader() *io.SectionReader {
	if b.r == nil {
		return io.NewSectionReader(bytes.NewReader(nil), 0, 0)
	}
	return io.NewSectionReader(b.r, 0, b.size)
}

// compareBytes is the size of the pieces in which an object is compared with a body.
const compareBytes = 1 << 20

// Exists is what an implementation's Put with IfAbsent returns when it met an object: nil if
// the options take the same content for success and it is the same, else ErrExists.
func Exists(ctx context.Context, s Store, key string, body Body, o PutOptions) error {
	if !o.Same {
		return fmt.Errorf("put %s: %w", key, ErrExists)
	}
	same, err := equal(ctx, s, key, body)
	if err != nil {
		return fmt.Errorf("compare %s with what is there: %w", key, err)
	}
	if !same {
		return fmt.Errorf("put %s, with other content: %w", key, ErrExists)
	}
	return nil
}

func equal(ctx context.Context, s Store, key string, body Body) (bool, error) {
	info, err := s.Stat(ctx, key)
	if err != nil || info.Size != body.size {
		return false, err
	}
	r := body.Reader()
	n := min(compareBytes, body.size)
	ours, theirs := make([]byte, n), make([]byte, n)
	for off := int64(0); off < body.size; off += n {
		k := min(n, body.size-off)
		if _, err := r.ReadAt(ours[:k], off); err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read body: %w", err)
		}
		if _, err := s.ReadAt(ctx, key, theirs[:k], off); err != nil {
			return false, err
		}
		if !bytes.Equal(ours[:k], theirs[:k]) {
			return false, nil
		}
	}
	return true, nil
}
