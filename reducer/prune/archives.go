package prune

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/schema"
	"seine/formats/warc"
	"seine/reducer/task"
)

// fate is what becomes of an archive.
type fate int

const (
	stays fate = iota
	goes       // nothing in it is live
	moves      // less than a third is live: its live records move
)

// live is how many bytes of each archive the rows of pages that stay point to.
func (p *pruning) live(ctx context.Context, pages []pageObject) (map[layout.Key]int64, error) {
	live := map[layout.Key]int64{}
	columns := []string{"html_blob_path", "blob_length"}
	for _, o := range pages {
		skip := o.skipper()
		err := task.EachRow(ctx, p.env, o.object, columns, func(row *schema.Page) error {
			if !skip() {
				live[strings.Clone(row.BlobPath)] += row.BlobLength
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return live, nil
}

// archives decides about archives whose part has no fetches: what a row of pages
// that stays points to is live. Those of parts that are joined move whatever is live.
func (p *pruning) archives(ctx context.Context, warc []lsm.WARCFile, pages []pageObject,
	joined bool) (map[string]fate, error) {
	live, err := p.live(ctx, pages)
	if err != nil {
		return nil, err
	}
	fates := map[string]fate{}
	for _, w := range warc {
		switch n := live[w.Key]; {
		case n == 0:
			fates[w.Key] = goes
			p.end.Counts[CountArchives]++
			p.end.Counts[CountBytes] += w.Bytes
		case joined || 3*n < w.Bytes:
			fates[w.Key] = moves
			p.end.Counts[CountRewritten]++
			p.end.Counts[CountBytes] += w.Bytes - n
		}
	}
	return fates, nil
}

// record is where a live record lies, and will lie.
type record struct {
	key            layout.Key
	offset, length int64
	to             int64
}

func compareRecords(a, b record) int {
	return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.offset, b.offset))
}

// move gathers the live records that rows of pages objects point to in archives that
// move, copies them into one new archive, and says where each is.
func (p *pruning) move(ctx context.Context, warc []lsm.WARCFile, pages []pageObject, name string,
	fates map[string]fate) (*lsm.WARCFile, []record, error) {
	var records []record
	columns := []string{"html_blob_path", "blob_offset", "blob_length"}
	for _, o := range pages {
		skip := o.skipper()
		err := task.EachRow(ctx, p.env, o.object, columns, func(row *schema.Page) error {
			if !skip() && fates[row.BlobPath] == moves {
				records = append(records, record{key: strings.Clone(row.BlobPath), offset: row.BlobOffset,
					length: row.BlobLength})
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	if len(records) == 0 {
		return nil, nil, nil
	}
	slices.SortFunc(records, compareRecords)
	sizes := map[layout.Key]int64{}
	for _, w := range warc {
		sizes[w.Key] = w.Bytes
	}
	key := task.OutputKey(p.task, name+".warc.gz")
	file, err := p.copy(ctx, key, records, sizes)
	return file, records, err
}

// copy writes an archive of the records as they are: each is a gzip member of
// its own. The requests that went with them are not taken along.
func (p *pruning) copy(ctx context.Context, key layout.Key, records []record,
	sizes map[layout.Key]int64) (*lsm.WARCFile, error) {
	file, err := os.CreateTemp(p.env.Scratch, "archive-*")
	if err != nil {
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	defer func() { _ = file.Close() }() // scratch
	if err := os.Remove(file.Name()); err != nil {
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	out := bufio.NewWriter(file)
	at, err := p.begin(out, key)
	if err != nil {
		return nil, err
	}
	for i := range records {
		r := &records[i]
		if err := p.append(ctx, out, r, sizes[r.key]); err != nil {
			return nil, fmt.Errorf("copy record at %d of %s: %w", r.offset, r.key, err)
		}
		r.to, at = at, at+r.length
	}
	if err := out.Flush(); err != nil {
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	err = p.env.Store.Put(ctx, key, objstore.File(file, at), objstore.PutOptions{IfAbsent: true, Same: true})
	if err != nil {
		return nil, fmt.Errorf("put %s: %w", key, err)
	}
	return &lsm.WARCFile{Key: key, Bytes: at}, nil
}

// begin writes the archive's first record and says where the next begins.
func (p *pruning) begin(out io.Writer, key layout.Key) (int64, error) {
	w, err := warc.NewWriter(out, warc.Options{Seed: key})
	if err != nil {
		return 0, err
	}
	info := warc.Info{Filename: key, Software: "seine"}.Record("", time.UnixMilli(p.task.Spec.Now).UTC())
	if _, _, err := w.Write(info); err != nil {
		return 0, err
	}
	return w.Offset(), nil
}

func (p *pruning) append(ctx context.Context, out io.Writer, r *record, size int64) error {
	src, err := p.env.Open(ctx, r.key, size)
	if err != nil {
		return err
	}
	defer task.CloseReader(src)
	n, err := io.Copy(out, io.NewSectionReader(src, r.offset, r.length))
	if err == nil && n != r.length {
		err = io.ErrUnexpectedEOF
	}
	return err
}
