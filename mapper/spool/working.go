package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// What is worked on is noted so that a page that kills the process can be told from those that it
// took along:
//
//	SCRATCH/r000012-t0003/
//	    working                     slots of slotBytes, one a body in work: CRC, length, name
//	    00000001.died               "working", as a process that died left it
//
// A slot costs one write when work begins and one when it ends; nothing is synced, since it is the
// process that dies and not the machine. Taking a death down is one rename: a death never counts
// twice.
const (
	workingName = "working"
	diedSuffix  = ".died"
	slotBytes   = 4096
	maxDeaths   = 64 // files of deaths that are kept, the newest
)

// slots are the places in the file of what is worked on.
type slots struct {
	mu   sync.Mutex
	file *os.File // nil before the first use, and when there can be none
	free []int64  // offsets
	used int64    // slots handed out so far
	off  bool     // the file cannot be had: nothing is noted
}

// Working notes that the process works on what name says, until done is called. Should the process
// die before, Deaths counts it. A name that does not fit a slot, or a disk that takes no more,
// leaves the work unnoted: it is then only tried more often than it should be.
func (s *Spool) Working(name string) (done func()) {
	w := &s.working
	record := make([]byte, 6, 6+len(name))
	record = append(record, name...)
	if len(record) > slotBytes {
		return func() {}
	}
	binary.LittleEndian.PutUint16(record[4:], uint16(len(name)))
	binary.LittleEndian.PutUint32(record, crc32.Checksum(record[4:], castagnoli))
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.open(filepath.Join(s.dir, workingName)) {
		return func() {}
	}
	at := w.used * slotBytes
	if n := len(w.free); n > 0 {
		at, w.free = w.free[n-1], w.free[:n-1]
	} else {
		w.used++
	}
	if _, err := w.file.WriteAt(record, at); err != nil {
		w.off = true
	}
	return sync.OnceFunc(func() { w.clear(at) })
}

func (w *slots) open(path string) bool {
	if w.file == nil && !w.off {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
		w.file, w.off = f, err != nil
	}
	return !w.off
}

func (w *slots) clear(at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return // closed meanwhile: close saw the work as under way, and it was
	}
	if _, err := w.file.WriteAt(make([]byte, 6), at); err != nil {
		w.off = true
	}
	w.free = append(w.free, at)
}

// close ends the noting of a living process: what it still works on did not kill it.
func (w *slots) close(path string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = true
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	if rerr := os.Remove(path); !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// bury takes down what the process before died at, if it did.
func (s *Spool) bury() error {
	path := filepath.Join(s.dir, workingName)
	names, err := readWorking(path)
	if err != nil || len(names) == 0 {
		return err
	}
	died, err := s.diedFiles()
	if err != nil {
		return err
	}
	next := uint64(1)
	if n := len(died); n > 0 {
		if _, err := fmt.Sscanf(filepath.Base(died[n-1]), "%d"+diedSuffix, &next); err != nil {
			return fmt.Errorf("%s: %w", died[n-1], err)
		}
		next++
	}
	for ; len(died) >= maxDeaths; died = died[1:] {
		if err := os.Remove(died[0]); err != nil {
			return err
		}
	}
	return os.Rename(path, filepath.Join(s.dir, fmt.Sprintf("%08d%s", next, diedSuffix)))
}

// diedFiles are the files of deaths, oldest first.
func (s *Spool) diedFiles() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(s.dir, "????????"+diedSuffix))
	slices.Sort(paths)
	return paths, err
}

// readWorking gives the names in a file of slots; a torn or damaged slot names nothing.
func readWorking(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for ; len(b) >= 6; b = b[min(slotBytes, len(b)):] {
		slot := b[:min(slotBytes, len(b))]
		n := int(binary.LittleEndian.Uint16(slot[4:]))
		if n == 0 || 6+n > len(slot) ||
			binary.LittleEndian.Uint32(slot) != crc32.Checksum(slot[4:6+n], castagnoli) {
			continue
		}
		names = append(names, string(slot[6:6+n]))
	}
	return names, nil
}

// Deaths counts, for each name that processes worked on when they died, the deaths, in the spool of
// the task id below dir. A spool that another process has tells of none: nobody died. It takes
// nothing over.
func Deaths(dir, id string) (map[string]int, error) {
	s := &Spool{dir: filepath.Join(dir, id)}
	if _, err := os.Stat(filepath.Join(s.dir, lockName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err := s.hold()
	if errors.Is(err, ErrBusy) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read deaths of %s: %w", s.dir, err)
	}
	deaths := map[string]int{}
	err = s.bury()
	var died []string
	if err == nil {
		died, err = s.diedFiles()
	}
	for _, path := range died {
		names, rerr := readWorking(path)
		err = errors.Join(err, rerr)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			deaths[name]++
		}
	}
	if err = errors.Join(err, s.lock.Close()); err != nil {
		return nil, fmt.Errorf("read deaths of %s: %w", s.dir, err)
	}
	return deaths, nil
}

// removeWorking removes what was noted of a task that has ended.
func (s *Spool) removeWorking() error {
	err := s.working.close(filepath.Join(s.dir, workingName))
	died, derr := s.diedFiles()
	err = errors.Join(err, derr)
	for _, path := range died {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
