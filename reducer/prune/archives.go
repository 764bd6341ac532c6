package prune

import (
	"bufio"
	"cmp"
	"context"
	"errors"
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
	sizes, keys := map[layout.Key]int64{}, map[string]layout.Key{} // the records share the keys' memory
	for _, w := range warc {
		sizes[w.Key], keys[w.Key] = w.Bytes, w.Key
	}
	columns := []string{"html_blob_path", "blob_offset", "blob_length"}
	for _, o := range pages {
		skip := o.skipper()
		err := task.EachRow(ctx, p.env, o.object, columns, func(row *schema.Page) error {
			if !skip() && fates[row.BlobPath] == moves {
				records = append(records, record{key: keys[row.BlobPath], offset: row.BlobOffset,
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
	buf := make([]byte, pieceBytes)
	for left := records; len(left) > 0; {
		near := neighbours(left)
		if err := p.append(ctx, out, near, sizes[near[0].key], buf); err != nil {
			return nil, fmt.Errorf("copy record at %d of %s: %w", near[0].offset, near[0].key, err)
		}
		for i := range near {
			near[i].to, at = at, at+near[i].length
		}
		left = left[len(near):]
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

const (
	// pieceBytes are read at once: about what a bucket gives in the time in which it
	// answers a few requests.
	pieceBytes = 4 << 20
	// gapBytes are read along rather than asked past.
	gapBytes = 64 << 10
)

// neighbours are the first of the records that one request reads; of one that is too
// large for it, that one.
func neighbours(records []record) []record {
	first := &records[0]
	end := first.offset + first.length
	n := 1
	for ; n < len(records); n++ {
		r := &records[n]
		next := max(end, r.offset+r.length)
		if r.key != first.key || r.offset-end > gapBytes || next-first.offset > pieceBytes {
			break
		}
		end = next
	}
	return records[:n]
}

// append copies neighbours.
func (p *pruning) append(ctx context.Context, out io.Writer, near []record, size int64, buf []byte) error {
	at, end := near[0].offset, int64(0)
	for _, r := range near {
		if r.offset < 0 || r.length < 0 || r.offset > size || r.length > size-r.offset {
			return fmt.Errorf("%d bytes at %d are not in %d bytes", r.length, r.offset, size)
		}
		end = max(end, r.offset+r.length)
	}
	src, err := p.env.Open(ctx, near[0].key, size)
	if err != nil {
		return err
	}
	defer task.CloseReader(src)
	for len(near) == 1 && end-at > int64(len(buf)) {
		if err := readFull(src, buf, at); err != nil {
			return err
		}
		if _, err := out.Write(buf); err != nil {
			return err
		}
		at += int64(len(buf))
	}
	if err := readFull(src, buf[:end-at], at); err != nil {
		return err
	}
	for _, r := range near {
		from := max(r.offset, at)
		if _, err := out.Write(buf[from-at : r.offset+r.length-at]); err != nil {
			return err
		}
	}
	return nil
}

// readFull fills buf from an offset on.
func readFull(src io.ReaderAt, buf []byte, at int64) error {
	n, err := src.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
