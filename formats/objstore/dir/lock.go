package dir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const lockPath = ".seine/lock"

// Owner is the process that holds a store's lock, as it describes itself.
type Owner struct {
	PID     int       `json:"pid"`
	Address string    `json:"address"` // where its API listens, host:port
	Since   time.Time `json:"since"`
}

// LockedError says who holds the lock.
type LockedError struct {
	Root  string
	Owner Owner
}

// Error tells a person whom to ask or stop.
func (e *LockedError) Error() string {
	return fmt.Sprintf("store %s is in use by process %d (API at %s, since %s): "+
		"wait for it, stop it, or give it your command",
		e.Root, e.Owner.PID, e.Owner.Address, e.Owner.Since.Format(time.RFC3339))
}

// Held is a lock that this process holds. The system lets it go when the process dies.
type Held struct {
	file   *os.File
	shared bool
}

// The lock is tried this often, this long apart, because Holder takes it for a moment when it
// looks whether somebody has it.
const (
	lockTries = 10
	lockPause = 10 * time.Millisecond
)

// Lock takes the lock of the store at root, for the one process that schedules and writes, and
// leaves its process id and API address for others to read. If another process has the
// lock the error is a *LockedError.
func Lock(root, address string) (*Held, error) { return take(root, address, syscall.LOCK_EX) }

// Share takes the lock together with the other coordinators of a group on this machine, which
// agree by other means: whoever wants it for itself is kept out. The address that others read is
// that of whoever took it last.
func Share(root, address string) (*Held, error) { return take(root, address, syscall.LOCK_SH) }

func take(root, address string, how int) (*Held, error) {
	path := filepath.Join(root, lockPath)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	for range lockTries {
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(lockPause)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		owner, _ := readOwner(f) // an unreadable description is still a lock
		err = &LockedError{root, owner}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	h := &Held{f, how == syscall.LOCK_SH}
	if err := h.Announce(address); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return h, nil
}

// Announce changes the address that others read, when the API begins to listen elsewhere.
func (h *Held) Announce(address string) error {
	data, err := json.Marshal(Owner{os.Getpid(), address, time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	if _, err := h.file.WriteAt(append(data, '\n'), 0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	if err := h.file.Truncate(int64(len(data) + 1)); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	return nil
}

// Release lets the lock go. The file stays; empty, unless others share the lock.
func (h *Held) Release() error {
	if h.shared {
		if syscall.Flock(int(h.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			if err := h.file.Close(); err != nil {
				return fmt.Errorf("release store lock: %w", err)
			}
			return nil
		}
	}
	if err := errors.Join(h.file.Truncate(0), h.file.Close()); err != nil {
		return fmt.Errorf("release store lock: %w", err)
	}
	return nil
}

// Holder says who holds the lock of the store at root, or that nobody does. It creates nothing.
func Holder(root string) (owner Owner, held bool, err error) {
	f, err := os.Open(filepath.Join(root, lockPath))
	if errors.Is(err, fs.ErrNotExist) {
		return Owner{}, false, nil
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("read store lock: %w", err)
	}
	for range lockTries {
		if owner, held, err = look(f); err == nil {
			break
		}
		time.Sleep(lockPause)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return Owner{}, false, fmt.Errorf("read store lock: %w", err)
	}
	return owner, held, nil
}

// look fails while the lock is being taken or let go: then its description is not whole.
func look(f *os.File) (owner Owner, held bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil { // nobody has it alone; what was written says that some may share it
		if owner, err = readOwner(f); err == nil {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return owner, true, syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
			}
		}
		return Owner{}, false, syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return Owner{}, false, err
	}
	owner, err = readOwner(f)
	return owner, true, err
}

func readOwner(f *os.File) (Owner, error) {
	var o Owner
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return Owner{}, fmt.Errorf("who holds it is not readable: %w", err)
	}
	return o, nil
}
