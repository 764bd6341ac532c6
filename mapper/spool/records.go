package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"syscall"
)

// MaxRecord is the largest payload in bytes: a body at its cap, with all that was parsed from it.
const MaxRecord = 64 << 20

const (
	magic      = "seine spool 1\n"
	recordHead = 8       // length and CRC-32C, little endian
	keepBuffer = 1 << 20 // a larger buffer is not kept from one append to the next
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum covers the length too, so that a torn length is not taken for a short record.
func checksum(length []byte, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, payload)
}

// Append adds a record whose payload is the parts joined. It is on the disk's side of the
// process when Append returns; after an error nothing of it is.
func (s *Spool) Append(parts ...[]byte) error {
	length := 0
	for _, p := range parts {
		length += len(p)
	}
	if length > MaxRecord {
		return fmt.Errorf("append to spool: %d bytes are more than %d", length, MaxRecord)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	grown := int64(recordHead + length)
	if s.current.size == 0 {
		grown += int64(len(magic))
	}
	if s.bytes()+grown > s.maxBytes {
		return fmt.Errorf("append to spool %s: %d of %d bytes: %w", s.dir, s.bytes(), s.maxBytes, ErrFull)
	}
	return s.write(s.encode(length, parts))
}

// encode builds the record, behind the file's header if it is the first.
func (s *Spool) encode(length int, parts [][]byte) []byte {
	b := s.buf[:0]
	if s.current.size == 0 {
		b = append(b, magic...)
	}
	b = slices.Grow(b, recordHead+length)
	head := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	b = append(b, 0, 0, 0, 0)
	for _, p := range parts {
		b = append(b, p...)
	}
	sum := checksum(b[head:head+4], b[head+recordHead:])
	binary.LittleEndian.PutUint32(b[head+4:], sum)
	if s.buf = b[:0]; cap(b) > keepBuffer {
		s.buf = nil
	}
	return b
}

// write appends in one write, and takes back what a failed write left.
func (s *Spool) write(b []byte) error {
	if s.file == nil {
		f, err := os.OpenFile(s.path(s.current.number), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return fmt.Errorf("append to spool: %w", full(err))
		}
		s.file = f
	}
	if _, err := s.file.WriteAt(b, s.current.size); err != nil {
		if undo := s.file.Truncate(s.current.size); undo != nil {
			s.broken = fmt.Errorf("spool %s has a torn record: %w", s.dir, undo)
		}
		return fmt.Errorf("append to spool: %w", full(err))
	}
	s.current.size += int64(len(b))
	return nil
}

func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// Recovery says what Replay found.
type Recovery struct {
	Records int   // delivered
	Bytes   int64 // of their payloads
	Torn    int   // files that end in a torn record, as a kill leaves them
	Damaged int   // files in which a record is wrong, with more behind it
	Lost    int64 // bytes not delivered: torn, or at and behind the damage in its file
}

// Replay calls fn with every record, in the order of the appends, as of the call. The payload
// is fn's only until it returns. In each file it stops at the first record that is not whole:
// behind it nothing can be told from chance. An error of fn ends the replay.
func (s *Spool) Replay(fn func(payload []byte) error) (Recovery, error) {
	return s.ReplayTo(math.MaxUint64, fn)
}

// ReplayTo is Replay for the generations up to and including the one numbered upTo.
func (s *Spool) ReplayTo(upTo uint64, fn func(payload []byte) error) (Recovery, error) {
	s.mu.Lock()
	generations := append(slices.Clone(s.older), s.current)
	s.mu.Unlock()
	var r Recovery
	for _, g := range generations {
		if g.number > upTo {
			break
		}
		if err := s.replay(g, &r, fn); err != nil {
			return r, fmt.Errorf("replay spool %s: %w", s.dir, err)
		}
	}
	return r, nil
}

func (s *Spool) replay(g generation, r *Recovery, fn func([]byte) error) error {
	if g.size == 0 {
		return nil
	}
	f, err := os.Open(s.path(g.number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // dropped meanwhile
	}
	if err != nil {
		return err
	}
	return errors.Join(replayFile(io.NewSectionReader(f, 0, g.size), g.size, r, fn), f.Close())
}

// replayFile reads one generation of the given size.
func replayFile(file io.Reader, size int64, r *Recovery, fn func([]byte) error) error {
	in := bufio.NewReaderSize(file, 256<<10)
	head := make([]byte, len(magic))
	n, err := io.ReadFull(in, head)
	if err != nil && !short(err) {
		return err
	}
	if n < len(magic) || string(head) != magic {
		r.stop(size, magic[:n] == string(head[:n]))
		return nil
	}
	left := size - int64(n)
	var payload []byte
	for left > 0 {
		var whole bool
		if payload, whole, err = readRecord(in, payload, left); err != nil {
			return err
		}
		if !whole {
			r.stop(left, payload == nil)
			return nil
		}
		if err := fn(payload); err != nil {
			return err
		}
		r.Records++
		r.Bytes += int64(len(payload))
		left -= recordHead + int64(len(payload))
	}
	return nil
}

// stop counts what is not read of a file.
func (r *Recovery) stop(left int64, torn bool) {
	r.Lost += left
	if torn {
		r.Torn++
	} else {
		r.Damaged++
	}
}

// readRecord reads a record into buf, of a file with left bytes. Of one that is not whole,
// nil says that it reaches the file's end or beyond: it is torn.
func readRecord(in io.Reader, buf []byte, left int64) (payload []byte, whole bool, err error) {
	if left < recordHead {
		return nil, false, nil
	}
	var head [recordHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, false, noShort(err)
	}
	length := int64(binary.LittleEndian.Uint32(head[:4]))
	if recordHead+length > left {
		return nil, false, nil
	}
	if length > MaxRecord {
		return head[:0], false, nil
	}
	if int64(cap(buf)) < length {
		buf = make([]byte, length)
	}
	buf = buf[:length]
	if _, err := io.ReadFull(in, buf); err != nil {
		return nil, false, noShort(err)
	}
	if checksum(head[:4], buf) == binary.LittleEndian.Uint32(head[4:]) {
		return buf, true, nil
	}
	if recordHead+length == left {
		return nil, false, nil
	}
	return head[:0], false, nil
}

func short(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// noShort drops the error of a file that became shorter than it was: the record is torn.
func noShort(err error) error {
	if short(err) {
		return nil
	}
	return err
}
