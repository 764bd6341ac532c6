package publish

import (
	"context"
	"errors"
	"fmt"

	"seine/formats/crawl"
	"seine/formats/layout"
	"seine/formats/objstore"
)

// ErrNoCrawl: the store holds no crawl.
var ErrNoCrawl = errors.New("this store holds no crawl")

// CreateCrawl makes the store a crawl that pins the text of a Public Suffix
// List, at now (ms). If it is one already, that one is returned: of two that
// create at once, one wins and both go on with it.
func CreateCrawl(ctx context.Context, store objstore.Store, suffixes []byte, now int64) (crawl.Crawl,
	error) {
	c := crawl.New(suffixes, now)
	if _, err := c.Suffixes(); err != nil {
		return crawl.Crawl{}, fmt.Errorf("create crawl: %w", err)
	}
	body, err := c.Encode()
	if err != nil {
		return crawl.Crawl{}, fmt.Errorf("create crawl: %w", err)
	}
	err = objstore.PutIfAbsent(ctx, store, layout.Crawl, body)
	if errors.Is(err, objstore.ErrExists) {
		return OpenCrawl(ctx, store)
	}
	if err != nil {
		return crawl.Crawl{}, fmt.Errorf("create crawl: %w", err)
	}
	return c, nil
}

// OpenCrawl reads what the store's crawl pins. A store without one is
// ErrNoCrawl, one that a newer build made crawl.ErrNewer.
func OpenCrawl(ctx context.Context, store objstore.Store) (crawl.Crawl, error) {
	body, err := store.Get(ctx, layout.Crawl)
	if errors.Is(err, objstore.ErrNotExist) {
		return crawl.Crawl{}, fmt.Errorf("%w: name another, or start one with seine crawl SEED",
			ErrNoCrawl)
	}
	if err != nil {
		return crawl.Crawl{}, fmt.Errorf("open crawl: %w", err)
	}
	return crawl.Decode(body)
}
