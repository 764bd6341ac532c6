package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/rowfile"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/reducer/publish"
	"seine/reducer/task"
)

// ErrNoCrawl: the store holds no crawl.
var ErrNoCrawl = publish.ErrNoCrawl

// Crawl is an opened crawl: a store that holds one, and what it pins. It may be
// used by many goroutines.
type Crawl struct {
	Store    *Store
	Suffixes *weburl.Suffixes
	// Codec packs what this process writes; the zero value is what it should be
	// everywhere but in a bubble of virtual time.
	Codec rowfile.Codec

	mu       sync.Mutex
	head     *lsm.Manifest
	files    task.Files
	versions map[uint64]settings.Settings
}

// OpenCrawl opens the crawl of a store, or creates it if create is set.
func OpenCrawl(ctx context.Context, store *Store, create bool) (*Crawl, error) {
	pinned, err := publish.OpenCrawl(ctx, store)
	if errors.Is(err, publish.ErrNoCrawl) {
		if err := half(ctx, store); err != nil {
			return nil, err
		}
	}
	if errors.Is(err, publish.ErrNoCrawl) && create {
		if err := objstore.Probe(ctx, store); err != nil {
			return nil, err
		}
		pinned, err = publish.CreateCrawl(ctx, store, weburl.EmbeddedSuffixes(),
			time.Now().UnixMilli())
	}
	if errors.Is(err, publish.ErrNoCrawl) {
		return nil, fmt.Errorf("%s: %w; `seine crawl SEED...` begins one", store.URL, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", store.URL, err)
	}
	suffixes, err := pinned.Suffixes()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", store.URL, err)
	}
	return &Crawl{Store: store, Suffixes: suffixes, versions: map[uint64]settings.Settings{}}, nil
}

// Over is the same crawl by another way to its store, which another process may have.
func (c *Crawl) Over(store *Store) *Crawl {
	return &Crawl{Store: store, Suffixes: c.Suffixes, Codec: c.Codec, versions: map[uint64]settings.Settings{}}
}

// half refuses a store into which a copy has begun and not ended.
func half(ctx context.Context, store *Store) error {
	_, err := store.Get(ctx, layout.Copy)
	switch {
	case err == nil:
		return fmt.Errorf("%s: a copy into it has not ended: run the same `seine copy` again", store.URL)
	case errors.Is(err, objstore.ErrNotExist):
		return nil
	}
	return fmt.Errorf("%s: %w", store.URL, err)
}

// Env is the world of the reducer's tasks, and of whoever reads tables.
func (c *Crawl) Env(scratch string) task.Env {
	e := task.Env{Store: c.Store, Open: c.Store.Open, Scratch: scratch, Codec: c.Codec,
		Settings: c.Settings, Files: &c.files, Suffixes: c.Suffixes}
	if c.Store.Root == "" {
		e.Staging = objstore.Staging{Folder: scratch, Block: stageBytes}
	}
	return e
}

// stageBytes of a bucket: about what a request to one brings in a second, and little beside the
// memory of a task.
const stageBytes = 32 << 20

// Head is the newest snapshot.
func (c *Crawl) Head(ctx context.Context) (*lsm.Manifest, error) {
	c.mu.Lock()
	from := c.head
	c.mu.Unlock()
	head, err := lsm.Head(ctx, c.Env("").Source(), from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Store.URL, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head == nil || head.N > c.head.N {
		c.head = head
	}
	return head, nil
}

// Snapshot is snapshot n; 0 is the newest.
func (c *Crawl) Snapshot(ctx context.Context, n uint64) (*lsm.Manifest, error) {
	if n == 0 {
		return c.Head(ctx)
	}
	return c.Env("").Snapshot(ctx, n)
}

// Settings reads a version of the settings, defaults filled in; version 0 is
// all defaults.
func (c *Crawl) Settings(ctx context.Context, version uint64) (settings.Settings, error) {
	s, err := c.StoredSettings(ctx, version)
	return s.Fill(), err
}

// StoredSettings reads a version of the settings as it was put.
func (c *Crawl) StoredSettings(ctx context.Context, version uint64) (settings.Settings, error) {
	if version == 0 {
		return settings.Settings{}, nil
	}
	c.mu.Lock()
	s, ok := c.versions[version]
	c.mu.Unlock()
	if ok {
		return s, nil
	}
	b, err := c.Store.Get(ctx, layout.Settings(version))
	if err != nil {
		return s, fmt.Errorf("settings %d: %w", version, err)
	}
	if s, err = settings.Decode(b); err != nil {
		return s, fmt.Errorf("settings %d: %w", version, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.versions[version] = s
	return s, nil
}

// NewestSettings is the number of the newest version; 0: none was put.
func (c *Crawl) NewestSettings(ctx context.Context) (uint64, error) {
	var newest uint64
	err := c.Store.List(ctx, layout.SettingsPrefix, "", func(i objstore.Info) error {
		v, err := layout.ParseSettings(i.Key)
		if err == nil {
			newest = max(newest, v)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("list the settings: %w", err)
	}
	return newest, nil
}

// SettingsAfter is the newest version, when known is one that is there: versions
// have no gaps, so a look at the next one tells.
func (c *Crawl) SettingsAfter(ctx context.Context, known uint64) (uint64, error) {
	if known == 0 {
		return c.NewestSettings(ctx)
	}
	for {
		_, err := c.StoredSettings(ctx, known+1)
		if errors.Is(err, objstore.ErrNotExist) {
			return known, nil
		}
		if err != nil {
			return 0, err
		}
		known++
	}
}

// PutSettings makes s the newest version, whatever the newest says, unless it says
// the same.
func (c *Crawl) PutSettings(ctx context.Context, s settings.Settings) (version uint64, changed bool, err error) {
	return c.ChangeSettings(ctx, func(settings.Settings) (settings.Change, error) {
		return settings.Change{Settings: s}, nil
	})
}

// ChangeSettings puts the version that change makes of the newest, unless it says
// nothing new; it returns the version that holds. Files that it names and that are
// not kept yet are read from this machine and put; one that cannot be used is a
// *FileError. When somebody else puts one
// meanwhile, change is asked again, so that no change is lost.
func (c *Crawl) ChangeSettings(ctx context.Context,
	change func(newest settings.Settings) (settings.Change, error)) (version uint64, changed bool, err error) {
	for {
		newest, err := c.NewestSettings(ctx)
		if err != nil {
			return 0, false, err
		}
		old, err := c.StoredSettings(ctx, newest)
		if err != nil {
			return 0, false, err
		}
		to, err := change(old)
		if err != nil {
			return 0, false, err
		}
		if err := to.Fill().ValidateAfter(old.Fill()); err != nil {
			return 0, false, err
		}
		if to.GroupByHost != old.GroupByHost {
			to.SetSheets(to.Sheets) // what they may say hangs on it
		}
		if err := c.keepFiles(ctx, &to.Settings); err != nil {
			return 0, false, err
		}
		s, changed := to.After(old, newest+1)
		if !changed {
			return newest, false, nil
		}
		b, err := s.Encode()
		if err != nil {
			return 0, false, err
		}
		err = objstore.PutIfAbsent(ctx, c.Store, layout.Settings(s.Version), b)
		if !errors.Is(err, objstore.ErrExists) {
			return s.Version, true, err
		}
	}
}
