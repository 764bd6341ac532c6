package publish

import (
	"context"
	"errors"
	"testing"

	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
)

// A job whose base is below takeovers commits above them, in the new epoch; the
// old epoch is closed to it.
func TestPublishAfterTakeOver(t *testing.T) {
	ctx := context.Background()
	store := mem.New()
	e := env(t, store)
	first, err := Commit(ctx, store, commitOf(t, lsm.Empty(), 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	job := Job{Spec: roundSpec(), Epoch: 1, Outcome: "discarded", Discard: true}
	job.Spec.Job, job.Spec.Base, job.Spec.Now = 2, first.N, 5000
	for want := uint64(2); want <= 3; want++ {
		m, err := TakeOver(ctx, e, nil)
		if err != nil {
			t.Fatal(err)
		}
		if m.Epoch != want || m.Job != 1 || m.Now != first.Now {
			t.Errorf("after a takeover: epoch %d, job %d, now %d", m.Epoch, m.Job, m.Now)
		}
	}
	if _, _, err := Publish(ctx, e, nil, job); !errors.Is(err, ErrStepDown) {
		t.Errorf("publish in the old epoch: %v", err)
	}
	job.Epoch = 3
	c, _, err := Publish(ctx, e, nil, job)
	if err != nil || c.N != 4 {
		t.Fatalf("publish above takeovers: %+v, %v", c, err)
	}
	if _, err := TakeOver(ctx, e, nil); err != nil {
		t.Fatal(err)
	}
	job.Epoch = 4
	again, _, err := Publish(ctx, e, nil, job)
	if err != nil || again.N != 4 || again.Job != 2 {
		t.Errorf("publish again below a takeover: %+v, %v; want commit 4", again, err)
	}
}

// A takeover whose answer is lost takes another epoch.
func TestTakeOverWritesTwice(t *testing.T) {
	store := &lossy{Store: mem.New()}
	m, err := TakeOver(context.Background(), env(t, store), nil)
	if err != nil || m.Epoch != 3 || m.N != 2 {
		t.Errorf("%+v, %v; want epoch 3 in snapshot 2", m, err)
	}
}

// lossy tells of its first write that the object was there.
type lossy struct {
	objstore.Store
	puts int
}

func (l *lossy) Put(ctx context.Context, key string, body objstore.Body, o objstore.PutOptions) error {
	err := l.Store.Put(ctx, key, body, o)
	if l.puts++; l.puts == 1 && err == nil {
		return objstore.ErrExists
	}
	return err
}
