package resolve

import (
	"container/list"
	"time"
)

// cache keeps results by name until they expire, at most so many, the longest unused going first.
type cache struct {
	limit   int
	entries map[string]*list.Element
	recent  *list.List // of *entry, most recently used in front
}

type entry struct {
	name string
	result
}

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: make(map[string]*list.Element), recent: list.New()}
}

func (c *cache) get(name string, now time.Time) (result, bool) {
	at := c.entries[name]
	if at == nil {
		return result{}, false
	}
	e := at.Value.(*entry)
	if !now.Before(e.expires) {
		c.remove(at)
		return result{}, false
	}
	c.recent.MoveToFront(at)
	return e.result, true
}

func (c *cache) put(name string, r result) {
	if at := c.entries[name]; at != nil {
		at.Value.(*entry).result = r
		c.recent.MoveToFront(at)
		return
	}
	for len(c.entries) > 0 && len(c.entries) >= c.limit {
		c.remove(c.recent.Back())
	}
	c.entries[name] = c.recent.PushFront(&entry{name, r})
}

func (c *cache) remove(at *list.Element) {
	delete(c.entries, at.Value.(*entry).name)
	c.recent.Remove(at)
}
