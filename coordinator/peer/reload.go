package peer

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
)

// Reloaded is what files hold, made anew when one of them has changed: certificates are renewed and
// tokens exchanged while a daemon runs. What cannot be read or is not whole yet leaves what was
// there before, and a line in the log. It may be used by many goroutines.
type Reloaded[T any] struct {
	load  func() (T, error)
	log   *slog.Logger
	paths []string

	mu    sync.Mutex
	of    []os.FileInfo // of the files that value was made of; nil for one that was not there
	told  []os.FileInfo // of those that could not be used, and of which the log has a line
	value T
}

// Reload loads for the first time; load reads the files at the paths. log hears of changes; nil:
// nobody does.
func Reload[T any](log *slog.Logger, load func() (T, error), paths ...string) (*Reloaded[T],
	error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := &Reloaded[T]{load: load, log: log, paths: paths, of: stamps(paths)}
	var err error
	r.value, err = load()
	return r, err
}

// Get looks at the files and gives what they hold.
func (r *Reloaded[T]) Get() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := stamps(r.paths)
	if slices.EqualFunc(now, r.of, same) {
		return r.value
	}
	value, err := r.load()
	switch {
	case err == nil:
		r.value, r.of, r.told = value, now, nil
		r.log.Info("files have changed and are used from now on", "files", r.paths)
	case r.told == nil || !slices.EqualFunc(now, r.told, same):
		r.told = now
		r.log.Warn("files have changed and cannot be used: what they held before still counts",
			"files", r.paths, "error", err)
	}
	return r.value
}

func stamps(paths []string) (all []os.FileInfo) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			info = nil // load says what is wrong, or it comes back
		}
		all = append(all, info)
	}
	return all
}

// same says whether a file is as it was.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// ReloadPair is a certificate with its key, in PEM files.
func ReloadPair(log *slog.Logger, certificate, key string) (*Reloaded[*tls.Certificate], error) {
	return Reload(log, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", certificate, key, err)
		}
		return &pair, nil
	}, certificate, key)
}

// ReloadAuthority is LoadAuthority of a file that may change.
func ReloadAuthority(log *slog.Logger, path string) (*Reloaded[*x509.CertPool], error) {
	return Reload(log, func() (*x509.CertPool, error) { return LoadAuthority(path) }, path)
}
