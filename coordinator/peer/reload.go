package peer

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Reloaded is what files hold, made anew when one of them has changed: certificates are renewed
// while a daemon runs. What cannot be read or is not whole yet leaves what was there before. It may
// be used by many goroutines.
type Reloaded[T any] struct {
	load  func() (T, error)
	paths []string

	mu    sync.Mutex
	of    []stamp
	value T
}

// stamp tells whether a file has changed.
type stamp struct {
	modified time.Time
	size     int64
}

// Reload loads for the first time; load reads the files at the paths.
func Reload[T any](load func() (T, error), paths ...string) (*Reloaded[T], error) {
	r := &Reloaded[T]{load: load, paths: paths, of: stamps(paths)}
	var err error
	r.value, err = load()
	return r, err
}

// Get looks at the files and gives what they hold.
func (r *Reloaded[T]) Get() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := stamps(r.paths)
	if slices.Equal(now, r.of) {
		return r.value
	}
	if value, err := r.load(); err == nil {
		r.value, r.of = value, now
	}
	return r.value
}

func stamps(paths []string) (all []stamp) {
	for _, path := range paths {
		var s stamp
		if info, err := os.Stat(path); err == nil { // else load says what is wrong, or it comes back
			s = stamp{info.ModTime(), info.Size()}
		}
		all = append(all, s)
	}
	return all
}

// ReloadPair is a certificate with its key, in PEM files.
func ReloadPair(certificate, key string) (*Reloaded[*tls.Certificate], error) {
	return Reload(func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", certificate, key, err)
		}
		return &pair, nil
	}, certificate, key)
}

// ReloadAuthority is LoadAuthority of a file that may change.
func ReloadAuthority(path string) (*Reloaded[*x509.CertPool], error) {
	return Reload(func() (*x509.CertPool, error) { return LoadAuthority(path) }, path)
}
