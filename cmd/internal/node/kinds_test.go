package node

import (
	"context"
	"strings"
	"sync"

	"seine/formats/objstore"
)

// kinds is a store that counts requests by what they are for: the last word of a key, or, where
// that is a number, the folder's.
type kinds struct {
	objstore.Store
	mu   sync.Mutex
	uses map[string]kindUse
}

type kindUse struct{ requests, bytes int64 }

func (k *kinds) count(op, key string, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	u := k.uses[op+" "+kindOf(key)]
	k.uses[op+" "+kindOf(key)] = kindUse{u.requests + 1, u.bytes + bytes}
}

func kindOf(key string) string {
	if strings.HasSuffix(key, ".warc.gz") {
		return "warc"
	}
	key = strings.TrimSuffix(key, ".parquet")
	words := strings.FieldsFunc(key, func(r rune) bool {
		return r == '/' || r == '-' || '0' <= r && r <= '9'
	})
	if len(words) == 0 {
		return key
	}
	return words[len(words)-1]
}

// clear forgets what was counted.
func (k *kinds) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.uses = map[string]kindUse{}
}

func (k *kinds) Get(ctx context.Context, key string) ([]byte, error) {
	b, err := k.Store.Get(ctx, key)
	k.count("get", key, int64(len(b)))
	return b, err
}

func (k *kinds) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	n, err := k.Store.ReadAt(ctx, key, p, off)
	k.count("read", key, int64(n))
	return n, err
}

func (k *kinds) Put(ctx context.Context, key string, b objstore.Body, o objstore.PutOptions) error {
	k.count("put", key, b.Size())
	return k.Store.Put(ctx, key, b, o)
}
