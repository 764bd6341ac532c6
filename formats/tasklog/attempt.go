package tasklog

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Attempt numbers a try at a task. Attempts of a task only grow: first by the epoch of the
// coordinators' group that granted them, then by N. The zero value is no attempt.
type Attempt struct{ Epoch, N uint64 }

// Compare orders attempts.
func (a Attempt) Compare(b Attempt) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.N, b.N))
}

// Less says whether a is older than b.
func (a Attempt) Less(b Attempt) bool { return a.Compare(b) < 0 }

// IsZero says whether a is no attempt.
func (a Attempt) IsZero() bool { return a == Attempt{} }

// String prints the attempt fixed width, as in e000001-a0003, so that keys that hold it sort as
// attempts do.
func (a Attempt) String() string { return fmt.Sprintf("e%06d-a%04d", a.Epoch, a.N) }

// MarshalText is String.
func (a Attempt) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText is ParseAttempt.
func (a *Attempt) UnmarshalText(text []byte) error {
	parsed, err := ParseAttempt(string(text))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

// ParseAttempt reads what String prints, and nothing else.
func ParseAttempt(s string) (Attempt, error) {
	epoch, n, ok := strings.Cut(s, "-a")
	if !ok || !strings.HasPrefix(epoch, "e") {
		return Attempt{}, fmt.Errorf("attempt %q is not like e000001-a0001", s)
	}
	var a Attempt
	var err error
	if a.Epoch, err = strconv.ParseUint(epoch[1:], 10, 64); err != nil {
		return Attempt{}, fmt.Errorf("attempt %q: epoch: %w", s, err)
	}
	if a.N, err = strconv.ParseUint(n, 10, 64); err != nil {
		return Attempt{}, fmt.Errorf("attempt %q: number: %w", s, err)
	}
	if a.String() != s {
		return Attempt{}, fmt.Errorf("attempt %q is not written as %q", s, a)
	}
	return a, nil
}
