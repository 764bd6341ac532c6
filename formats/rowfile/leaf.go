package rowfile

import "slices"

// leafCursor decodes the pages of one leaf column, in order or by seeking
// forward and back. It reads ahead within the chunk.
type leafCursor struct {
	t     *table
	leaf  int
	ahead int64 // bytes to read at once, where the chunk has them
	id    chunkID
	spans []pageSpan // of the chunk at id
	at    int        // page decoded; -1: none
	page  page
	buf   []byte // file bytes from bufAt on: own, or part of the file's tail
	own   []byte
	// blocks, where set, are looked in first: what Gather has read already.
	blocks blocks
	bufAt  int64
}

func (t *table) cursor(leaf int, ahead int64) *leafCursor {
	return &leafCursor{t: t, leaf: leaf, ahead: ahead, id: chunkID{-1, leaf}, at: -1}
}

// seek decodes the page that holds the row, unless it is decoded already.
func (c *leafCursor) seek(row int64) (*page, error) {
	if c.at >= 0 && row >= c.page.span.row && row < c.page.span.row+c.page.span.rows {
		return &c.page, nil
	}
	if err := c.enter(c.t.group(row)); err != nil {
		return nil, err
	}
	at := c.at + 1 // the next page, most of the time
	if at >= len(c.spans) || row < c.spans[at].row || row >= c.spans[at].row+c.spans[at].rows {
		next, _ := slices.BinarySearchFunc(c.spans, row, func(s pageSpan, row int64) int {
			if s.row <= row {
				return -1
			}
			return 1
		})
		at = next - 1
	}
	b, err := c.bytes(c.spans[at])
	if err != nil {
		return nil, err
	}
	c.at = -1
	if err := c.t.decode(&c.page, c.id, c.spans[at], b); err != nil {
		return nil, err
	}
	c.at = at
	return &c.page, nil
}

func (c *leafCursor) enter(group int) error {
	if c.id.group == group {
		return nil
	}
	spans, err := c.t.spans(chunkID{group, c.leaf})
	if err != nil {
		return err
	}
	c.id, c.spans, c.at = chunkID{group, c.leaf}, spans, -1
	return nil
}

// bytes gives the stored bytes of a page.
func (c *leafCursor) bytes(s pageSpan) ([]byte, error) {
	if b := c.blocks.find(s); b != nil {
		return b, nil
	}
	if b := c.t.fetched.find(s); b != nil {
		return b, nil
	}
	if from := s.off - c.bufAt; c.buf != nil && from >= 0 && from+s.len <= int64(len(c.buf)) {
		return c.buf[from : from+s.len], nil
	}
	last := c.spans[len(c.spans)-1]
	n := max(s.len, min(c.ahead, last.off+last.len-s.off))
	b, err := c.t.src.read(c.own, s.off, n)
	if err != nil {
		return nil, err
	}
	c.buf, c.bufAt = b, s.off
	if !c.t.src.inTail(s.off) {
		c.own = b
	}
	return b[:s.len], nil
}
