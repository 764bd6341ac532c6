package settings

import (
	"fmt"

	"seine/formats/scope"
	"seine/formats/weburl"
)

// Blocklist is the blocks in force at one moment, ready to be asked. It never
// changes and may be asked by many goroutines; nil blocks nothing.
type Blocklist struct {
	holding []Block
	blocks  *scope.Blocks
}

// NewBlocklist takes of all blocks those in force at now, ms.
func NewBlocklist(all []Block, now int64) (*Blocklist, error) {
	l := &Blocklist{}
	var whats []string
	for _, b := range all {
		if b.Holds(now) {
			l.holding = append(l.holding, b)
			whats = append(whats, b.What)
		}
	}
	var err error
	if l.blocks, err = scope.NewBlocks(whats); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return l, nil
}

// Find is the block that keeps a URL in normal form away, or nil.
func (l *Blocklist) Find(u weburl.Normal) *Block {
	if l == nil {
		return nil
	}
	if i, ok := l.blocks.Match(u); ok {
		return &l.holding[i]
	}
	return nil
}

// Empty says whether nothing is blocked.
func (l *Blocklist) Empty() bool { return l == nil || len(l.holding) == 0 }

// Expires is when the first of the blocks ends by itself, ms; 0: none does.
func (l *Blocklist) Expires() (at int64) {
	if l == nil {
		return 0
	}
	for _, b := range l.holding {
		if b.Until != 0 && (at == 0 || b.Until < at) {
			at = b.Until
		}
	}
	return at
}
