package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"seine/formats/bloom"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/schema"
)

// objects asks for every object that the snapshot names, and compares sizes.
func (a *auditor) objects(ctx context.Context) error {
	stat := func(key layout.Key, bytes int64) error {
		a.checked("objects", 1)
		info, err := a.Store.Stat(ctx, key)
		switch {
		case errors.Is(err, objstore.ErrNotExist):
			a.find("objects", key, "is not there", nextRestore)
			a.broken[key] = true
		case err != nil:
			if !a.damaged(ctx, "objects", key, err) {
				return err
			}
		case bytes != 0 && info.Size != bytes:
			a.find("objects", key, fmt.Sprintf("has %d bytes, the snapshot says %d", info.Size, bytes),
				nextRestore)
			a.broken[key] = true
		}
		return nil
	}
	for f := range a.m.Files() {
		if f.Sidecar {
			continue // looked at below: it can be made again
		}
		if err := stat(f.Key, f.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// sidecars reads the sidecars of all runs; with ReadData every key of a run has
// to be found through its sidecar.
func (a *auditor) sidecars(ctx context.Context) error {
	return errors.Join(sidecars(ctx, a, lsm.URLs(), schema.URLs),
		sidecars(ctx, a, lsm.Domains(), schema.Domains), sidecars(ctx, a, lsm.Hosts(), schema.Hosts),
		sidecars(ctx, a, lsm.RobotsTable(), schema.RobotsT))
}

func sidecars[R any](ctx context.Context, a *auditor, t lsm.Table[R], name string) error {
	for _, r := range a.m.Tables[name] {
		for _, o := range r.Objects {
			if o.Sidecar == "" || a.broken[o.Key] {
				continue
			}
			a.checked("sidecars", 1)
			err := lsm.CheckSidecar(ctx, a.Open, o)
			if err == nil && a.o.ReadData {
				err = agrees(ctx, a, t, o)
			}
			if err == nil {
				continue
			}
			if ctx.Err() != nil || errors.Is(err, objstore.ErrUnavailable) {
				return err
			}
			if err := mend(ctx, a, t, o, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// agrees compares a sidecar with the one that its object gives: the same bytes,
// so no false negative and every page where it is.
func agrees[R any](ctx context.Context, a *auditor, t lsm.Table[R], o lsm.Object) error {
	var fresh bytes.Buffer
	if _, err := t.RebuildSidecar(ctx, a.Open, o, &fresh); err != nil {
		if a.damaged(ctx, "sidecars", o.Key, err) {
			return nil // the object is to blame
		}
		return err
	}
	there := make([]byte, o.SidecarBytes)
	src, err := a.Open(ctx, o.Sidecar, o.SidecarBytes)
	if err != nil {
		return err
	}
	if n, err := src.ReadAt(there, 0); n < len(there) {
		return fmt.Errorf("%w: it ends after %d bytes: %w", bloom.ErrCorrupt, n, err)
	}
	if !bytes.Equal(there, fresh.Bytes()) {
		return fmt.Errorf("%w: it is not of this object", bloom.ErrCorrupt)
	}
	return nil
}

// mend reports a sidecar that is damaged, and rebuilds it if asked to.
func mend[R any](ctx context.Context, a *auditor, t lsm.Table[R], o lsm.Object, damage error) error {
	a.find("sidecars", o.Sidecar, damage.Error(), nextRepair)
	if !a.o.Repair {
		return nil
	}
	var fresh bytes.Buffer
	if _, err := t.RebuildSidecar(ctx, a.Open, o, &fresh); err != nil {
		a.damaged(ctx, "sidecars", o.Key, err)
		return ctx.Err()
	}
	if int64(fresh.Len()) != o.SidecarBytes {
		a.find("sidecars", o.Sidecar, fmt.Sprintf("rebuilt it has %d bytes, the snapshot says %d",
			fresh.Len(), o.SidecarBytes), nextReport)
		return nil
	}
	if err := a.Store.Put(ctx, o.Sidecar, objstore.Bytes(fresh.Bytes()), objstore.PutOptions{}); err != nil {
		return fmt.Errorf("put sidecar %s: %w", o.Sidecar, err)
	}
	for i := range a.report.Findings {
		if f := &a.report.Findings[i]; f.Object == o.Sidecar {
			f.Fixed, f.Next = true, ""
		}
	}
	return nil
}
