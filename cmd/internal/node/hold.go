package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"seine/coordinator/group"
	"seine/coordinator/leader"
	"seine/formats/objstore/dir"
	"seine/reducer/publish"
)

// On a bucket no lock keeps others out: whose it is stands in its epoch. The epoch that a process of
// this machine has begun is noted in the store's local folder, under the lock that this machine's
// processes share, so that the next one knows that whoever had it is dead.

// holdName is the note's file, below the local folder.
const holdName = ".seine/epoch"

// holding is the note.
type holding struct {
	Epoch uint64 `json:"epoch"`
}

func (c *Crawl) holdPath() string { return filepath.Join(c.Store.Local, filepath.FromSlash(holdName)) }

// held is the epoch that this machine has begun last; 0: none, or the note cannot be read.
func (c *Crawl) held() uint64 {
	var h holding
	b, err := os.ReadFile(c.holdPath())
	if err != nil || json.Unmarshal(b, &h) != nil {
		return 0
	}
	return h.Epoch
}

// hold notes an epoch.
func (c *Crawl) hold(epoch uint64) error {
	b, err := json.Marshal(holding{epoch})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.holdPath()), 0o700)
	}
	fresh := c.holdPath() + ".new"
	if err == nil {
		err = os.WriteFile(fresh, b, 0o600)
	}
	if err == nil {
		err = os.Rename(fresh, c.holdPath())
	}
	if err != nil {
		return fmt.Errorf("note whose the crawl is: %w", err)
	}
	return nil
}

// fences keep an embedded node on a bucket from others; nil where a lock does.
func (c *Crawl) fences() *leader.Group {
	if c.Store.Root != "" {
		return nil
	}
	return &leader.Group{Quiet: group.QuietTime, Took: c.hold, Held: func(epoch uint64) (bool, error) {
		switch {
		case epoch <= 1: // nobody has ever had it
			return false, nil
		case epoch != c.held():
			return false, fmt.Errorf("%s: %w: another machine or a group of coordinators has it, by its "+
				"epoch %d; --coordinator names a group that runs, `seine takeover` takes the crawl over and "+
				"ends whoever has it", c.Store.URL, leader.ErrHeld, epoch)
		}
		return true, nil
	}}
}

// TakeOver takes a bucket's crawl over for this machine: whoever has it ends within GuardTime, and
// what it had lent is over when TakeOver returns, a minute later; wait is told that it waits.
func TakeOver(ctx context.Context, c *Crawl, wait func(time.Duration)) (epoch uint64, err error) {
	lock, err := dir.Lock(c.Store.Local, "")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	head, err := publish.TakeOver(ctx, c.Env(""), nil)
	if err != nil {
		return 0, err
	}
	wait(group.QuietTime)
	select {
	case <-time.After(group.QuietTime):
	case <-ctx.Done():
		return 0, fmt.Errorf("the epoch has begun, and this machine does not hold it yet; the same command "+
			"takes over anew: %w", context.Cause(ctx))
	}
	return head.Epoch, c.hold(head.Epoch)
}
