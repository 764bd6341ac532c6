package objstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// ProbeKey is the object that Probe puts, once for each store, and leaves there.
const ProbeKey = "probe/put-if-absent"

// Probe refuses a store on which nothing could be committed: one without put-if-absent (which
// many S3 look-alikes accept and ignore), or that cannot be written. Run it at first use.
// It may be run by any number of processes at once.
func Probe(ctx context.Context, s Store) error {
	first, second := []byte("first writer\n"), []byte("second writer\n")
	err := PutIfAbsent(ctx, s, ProbeKey, first)
	if err != nil && !errors.Is(err, ErrExists) {
		return fmt.Errorf("probe the store: %w", err)
	}
	err = PutIfAbsent(ctx, s, ProbeKey, second)
	there, getErr := s.Get(ctx, ProbeKey)
	if getErr != nil {
		return fmt.Errorf("probe the store: %w", getErr)
	}
	if err == nil || bytes.Equal(there, second) {
		return errors.Join(errNoCondition, s.Delete(ctx, ProbeKey))
	}
	if !errors.Is(err, ErrExists) {
		return fmt.Errorf("probe the store: %w", err)
	}
	return nil
}

var errNoCondition = errors.New("the store does not keep put-if-absent (If-None-Match: *): it " +
	"overwrote an object, and so would lose commits; use a store that keeps it, such as Amazon " +
	"S3, MinIO, versitygw, or a local directory")
