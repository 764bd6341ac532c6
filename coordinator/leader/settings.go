package leader

import (
	"context"
	"fmt"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs"
)

// How often the leader looks by itself whether newer settings were put: while a
// round fetches, so that together with a heartbeat a block bites within five
// seconds even when nobody told the coordinator.
const (
	lookFetching = time.Second
	lookIdle     = 10 * time.Second
)

// Heed implements api.Conn.
func (l *Leader) Heed(ctx context.Context, s api.Settings) error {
	if err := l.ready(); err != nil {
		return err
	}
	if err := l.look(ctx); err != nil {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settings.Version < s.Version {
		return fmt.Errorf("version %d of the settings is not in this coordinator's store, its newest "+
			"is %d: %w", s.Version, l.settings.Version, api.ErrBadRequest)
	}
	return nil
}

// lookRegularly looks for newer settings until ctx ends.
func (l *Leader) lookRegularly(ctx context.Context) {
	for {
		every := lookIdle
		l.node.View(func(s *state.State) {
			if j := s.Writing(); j != nil && j.Stage == jobs.StageFetch {
				every = lookFetching
			}
		})
		l.mu.Lock()
		every = max(every, l.settings.Again)
		l.mu.Unlock()
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
		if err := l.look(ctx); err != nil && ctx.Err() == nil {
			l.log.Warn("look for newer settings", "error", err)
		}
	}
}

// look reads the newest settings and makes what they say of a pause hold. The
// version is told to workers only after that, so that whoever knows it knows
// the moved hard stop as well.
func (l *Leader) look(ctx context.Context) error {
	l.looking.Lock()
	defer l.looking.Unlock()
	l.mu.Lock()
	known := l.settings.Version
	l.mu.Unlock()
	found, err := l.ledger.Settings(ctx, known)
	if err != nil {
		return fmt.Errorf("read the newest settings: %w", err)
	}
	var paused *state.Pause
	l.node.View(func(s *state.State) {
		if s.Paused != nil {
			copied := *s.Paused
			paused = &copied
		}
	})
	switch {
	case found.Paused != nil && (paused == nil || *paused != *found.Paused):
		_, err = l.apply(ctx, *found.Paused)
	case found.Paused == nil && paused != nil:
		_, err = l.apply(ctx, state.Resume{})
	}
	if err != nil {
		return fmt.Errorf("heed version %d of the settings: %w", found.Version, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := found.Version != l.settings.Version
	l.settings = found
	if changed {
		l.change()
	}
	return nil
}
