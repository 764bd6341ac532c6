package requeue

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/rowfile"
	"seine/reducer/task"
)

// Target is a row of the upload: the key of a URL.
type Target struct {
	Partition int32  `parquet:"partition"`
	Domain    string `parquet:"domain,delta"`
	Host      string `parquet:"host,delta"`
	URL       string `parquet:"url,delta"`
}

func (t *Target) key() lsm.Key {
	return lsm.Key{Partition: uint16(t.Partition), Domain: t.Domain, Host: t.Host, URL: t.URL}
}

// Targets gathers URLs in any order, on scratch, and stores them sorted.
type Targets struct {
	env    task.Env
	sorted *lsm.Sorter
}

// NewTargets gathers on e's scratch. It ends with Close.
func NewTargets(e task.Env) *Targets {
	return &Targets{e, lsm.NewSorter(lsm.SorterOptions{Memory: e.Memory() / 4, Scratch: e.Scratch})}
}

// Add takes a URL by its key in urls.
func (t *Targets) Add(key lsm.Key) error { return t.sorted.Add(key) }

// Close drops what was gathered.
func (t *Targets) Close() { _ = t.sorted.Close() } // scratch

// Put stores the targets, each once, under the digest of their bytes: the same
// targets are the same object. It says how many there are.
func (t *Targets) Put(ctx context.Context) (key layout.Key, targets int64, err error) {
	file, err := os.CreateTemp(t.env.Scratch, "targets-*")
	if err != nil {
		return "", 0, fmt.Errorf("scratch file for targets: %w", err)
	}
	defer func() { _ = file.Close() }() // scratch
	if err := os.Remove(file.Name()); err != nil {
		return "", 0, fmt.Errorf("scratch file for targets: %w", err)
	}
	digest := sha256.New()
	out := bufio.NewWriter(io.MultiWriter(file, digest))
	rows := rowfile.NewWriter[Target](out, rowfile.Options{Codec: t.env.Codec, Partitioned: true})
	if err := t.sorted.Each(ctx, func(k lsm.Key) error {
		return rows.WriteRow(&Target{Partition: int32(k.Partition), Domain: k.Domain, Host: k.Host,
			URL: k.URL})
	}); err != nil {
		return "", 0, fmt.Errorf("write targets: %w", err)
	}
	if err := errors.Join(rows.Finish(), out.Flush()); err != nil {
		return "", 0, fmt.Errorf("write targets: %w", err)
	}
	key = layout.Upload(hex.EncodeToString(digest.Sum(nil)))
	err = t.env.Store.Put(ctx, key, objstore.File(file, rows.Bytes()),
		objstore.PutOptions{IfAbsent: true, Same: true})
	if err != nil && !errors.Is(err, objstore.ErrExists) {
		return "", 0, fmt.Errorf("upload targets: %w", err)
	}
	return key, rows.Rows(), nil
}
