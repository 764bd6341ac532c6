package objstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// The error classes. They are wrapped with the operation and the key: test with errors.Is.
var (
	// ErrNotExist: no object has the key. It matches fs.ErrNotExist.
	ErrNotExist = fmt.Errorf("no such object: %w", fs.ErrNotExist)
	// ErrExists: a put with IfAbsent met an object. It matches fs.ErrExist.
	ErrExists = fmt.Errorf("object is there already: %w", fs.ErrExist)
	// ErrUnavailable: the store did not answer, or asked for patience. The operation may have
	// happened or not. Try again later.
	ErrUnavailable = errors.New("object store unavailable")
	// ErrFull: the store has no space left. Nothing became visible.
	ErrFull = errors.New("object store is full")
)

// MaxGet is the largest object in bytes that Get returns; larger ones are read by range.
const MaxGet = 64 << 20

// MaxPut is the largest body in bytes that Put takes: what S3 stores in a single request, and
// only a single request carries the condition safely.
const MaxPut = 5 << 30

// Info describes an object.
type Info struct {
	Key     string
	Size    int64     // bytes
	ModTime time.Time // when it became visible, by the store's clock
}

// PutOptions say how a put meets an object that is there. The zero value overwrites it.
type PutOptions struct {
	// IfAbsent creates the object only if no object has the key, else the put fails with
	// ErrExists and changes nothing.
	IfAbsent bool
	// Same, with IfAbsent, takes an object that is there as success if its content equals the
	// body byte for byte. It is for bodies that either name their writer, so that equal means
	// ours, or are a function of the key, so that it does not matter whose they are. Without
	// Same, a repeated put can answer ErrExists because of its own first try, whose answer was
	// lost: the caller reads the object and decides.
	Same bool
}

// Store holds objects by key. See the package comment for what is atomic and what may be
// repeated. A key is as CheckKey says; a key that is another key's folder (`a` and `a/b`) is
// an error on stores that cannot hold both: no caller may rely on either.
type Store interface {
	// Get returns a whole object of at most MaxGet bytes.
	Get(ctx context.Context, key string) ([]byte, error)
	// ReadAt reads len(p) bytes at off in one request. As io.ReaderAt, it returns io.EOF with
	// n < len(p) where the object ends; a read that ends exactly there returns no error. An
	// empty p reads nothing and asks nothing.
	ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error)
	// Put stores the body, whole or not at all.
	Put(ctx context.Context, key string, body Body, o PutOptions) error
	// Stat describes the object.
	Stat(ctx context.Context, key string) (Info, error)
	// List calls fn for every key with the prefix that is greater than after, in the order of
	// the keys' bytes. The prefix is of characters, not of folders. An error of fn ends the
	// listing and is returned as it is, but fs.SkipAll ends it without error. fn may use the
	// store. Objects put or deleted meanwhile may be listed or not.
	List(ctx context.Context, prefix, after string, fn func(Info) error) error
	// Delete removes the objects. A missing one is no error. It stops at the first error.
	Delete(ctx context.Context, keys ...string) error
}

// PutIfAbsent creates a small object, or fails with ErrExists.
func PutIfAbsent(ctx context.Context, s Store, key string, data []byte) error {
	return s.Put(ctx, key, Bytes(data), PutOptions{IfAbsent: true})
}

// WriteOnce is a store seen as a set of write-once registers: Get and PutIfAbsent of small
// values. It fits interfaces of packages that must not import this one.
type WriteOnce struct{ Store Store }

// Get returns the value of the key; a missing one matches fs.ErrNotExist.
func (w WriteOnce) Get(ctx context.Context, key string) ([]byte, error) {
	return w.Store.Get(ctx, key)
}

// PutIfAbsent sets the value of the key; one that is set matches fs.ErrExist.
func (w WriteOnce) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return PutIfAbsent(ctx, w.Store, key, data)
}

// skipAll takes fs.SkipAll, the way of a listing's callback to end it, for success.
func skipAll(err error) error {
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}
