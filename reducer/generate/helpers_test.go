package generate_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/schema"
	"seine/reducer/task"
	"seine/reducer/twin"
)

func read[R any](ctx context.Context, t testing.TB, e task.Env, o *lsm.Object) []R {
	t.Helper()
	rows, err := twin.Rows[R](ctx, e, o)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

type (
	listRow  = schema.List
	waitRow  = schema.FrontierRow
	fetchRow = schema.Fetch
	slotRow  = schema.Domain
)

// written gives the digests of what lies below a prefix.
func written(ctx context.Context, t testing.TB, store objstore.Store, prefix string) map[string]string {
	t.Helper()
	objects := map[string]string{}
	err := store.List(ctx, prefix, "", func(info objstore.Info) error {
		body, err := store.Get(ctx, info.Key)
		objects[strings.TrimPrefix(info.Key, prefix)] = fmt.Sprintf("%x", sha256.Sum256(body))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// containsAttempt says whether a text names attempt n of epoch 1.
func containsAttempt(text []byte, n uint64) bool {
	return bytes.Contains(text, []byte(layout.Attempt{Epoch: 1, N: n}.String()))
}
