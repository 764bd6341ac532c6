package lsm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"seine/formats/layout"
)

// Source reads small objects of the store.
type Source struct {
	Get func(ctx context.Context, key layout.Key) ([]byte, error)
	// Missing says whether an error of Get means that there is no such object.
	Missing func(error) bool
}

// Hint is the content of the object LATEST for snapshot n.
func Hint(n uint64) []byte { return strconv.AppendUint(nil, n, 10) }

// Empty is snapshot 0, before any commit.
func Empty() *Manifest { return &Manifest{Format: 1, Tables: map[string][]Run{}} }

// Head returns the newest snapshot. It walks forward, commit by commit, from a
// snapshot that is known; from nil, or where the next commit has expired, it
// begins at the whole manifest before the commit that LATEST names, or finds the
// end by doubling steps. A commit that is damaged, or missing below one that is
// there, is an error.
func Head(ctx context.Context, src Source, from *Manifest) (*Manifest, error) {
	for hint := true; ; {
		if from == nil {
			var err error
			if from, err = src.near(ctx, hint); err != nil {
				return nil, err
			}
			hint = false // it may be of long ago, and what it names remembered by a cache
		}
		c, err := src.commit(ctx, from.N+1)
		if err != nil || c == nil {
			return from, err
		}
		if c.Expired {
			from = nil
			continue
		}
		if from, err = from.Apply(c); err != nil {
			return nil, err
		}
	}
}

// near is a snapshot near the newest one: that of the hint, if it is to be followed and
// has not expired, else the newest.
func (s Source) near(ctx context.Context, hint bool) (*Manifest, error) {
	if hint {
		n, err := s.hinted(ctx)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			m, err := At(ctx, s, n)
			if err == nil || !errors.Is(err, ErrExpired) {
				return m, err
			}
		}
	}
	n, err := s.last(ctx)
	if err != nil {
		return nil, err
	}
	return At(ctx, s, n)
}

// hinted is the number of the commit that LATEST names, if it is there; else 0.
func (s Source) hinted(ctx context.Context) (uint64, error) {
	b, err := s.Get(ctx, layout.Latest)
	if err != nil {
		if s.Missing(err) {
			return 0, nil
		}
		return 0, fmt.Errorf("read %s: %w", layout.Latest, err)
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 64)
	if err != nil {
		return 0, nil // a hint, no more
	}
	if there, err := s.there(ctx, n); err != nil || !there {
		return 0, err
	}
	return n, nil
}

// last is the number of the last commit, found by doubling steps. 0: there is none.
func (s Source) last(ctx context.Context) (uint64, error) {
	lo, hi := uint64(0), uint64(1) // lo is there (0 always is), hi perhaps not
	for {
		there, err := s.there(ctx, hi)
		if err != nil {
			return 0, err
		}
		if !there {
			break
		}
		lo, hi = hi, hi*2
	}
	for lo+1 < hi {
		mid := lo + (hi-lo)/2
		there, err := s.there(ctx, mid)
		if err != nil {
			return 0, err
		}
		if there {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, nil
}

func (s Source) there(ctx context.Context, n uint64) (bool, error) {
	if n == 0 {
		return true, nil
	}
	_, err := s.Get(ctx, layout.Commit(n))
	if err != nil && s.Missing(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", layout.Commit(n), err)
	}
	return true, nil
}

// commit reads commit n; nil: there is none.
func (s Source) commit(ctx context.Context, n uint64) (*Commit, error) {
	key := layout.Commit(n)
	b, err := s.Get(ctx, key)
	if err != nil {
		if s.Missing(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	c, err := DecodeCommit(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if c.N != n || c.Whole != nil && c.Whole.N != n {
		return nil, fmt.Errorf("read %s: damaged commit: it says that it is commit %d", key, c.N)
	}
	return c, nil
}

// At returns snapshot n: the last whole manifest at or before it, and the edits
// since. Snapshot 0 is empty. One that retention has let go is ErrExpired.
func At(ctx context.Context, src Source, n uint64) (*Manifest, error) {
	if n == 0 {
		return Empty(), nil
	}
	first := max(n-n%WholeEvery, 1)
	m := Empty()
	for i := first; i <= n; i++ {
		c, err := src.commit(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("snapshot %d: %w", n, err)
		}
		if c == nil {
			return nil, fmt.Errorf("snapshot %d: %s is missing: a commit was lost; restore it from a copy",
				n, layout.Commit(i))
		}
		if c.Expired {
			return nil, fmt.Errorf("snapshot %d: %w: retention did not keep it; `seine snapshot list` shows "+
				"those that there are", n, ErrExpired)
		}
		if i == first && c.Whole != nil {
			m = c.Whole
		} else if i > first || i == 1 {
			m, err = m.Apply(c)
		} else {
			err = fmt.Errorf("damaged commit: it should carry the whole manifest")
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot %d: read %s: %w", n, layout.Commit(i), err)
		}
	}
	return m, nil
}

// NewCommit is the commit that follows m with an edit: it carries the whole
// manifest where it must.
func (m *Manifest) NewCommit(c Commit) (*Commit, error) {
	c.N, c.Whole = m.N+1, nil
	next, err := m.Apply(&c)
	if err != nil {
		return nil, err
	}
	if c.N == 1 || c.N%WholeEvery == 0 {
		c.Whole = next
	}
	c.Format = c.format()
	if _, err := json.Marshal(&c); err != nil {
		return nil, fmt.Errorf("encode commit %d: %w", c.N, err)
	}
	return &c, nil
}
