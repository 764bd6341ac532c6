package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/tasklog"
	"seine/formats/warc"
	"seine/jobs"
)

// chunk is a sealed part of the task on scratch, ready to be put.
type chunk struct {
	files    []chunkFile
	counts   map[string]int64
	from, to int64 // first and last exchange, µs
}

type chunkFile struct {
	object tasklog.Object
	file   *os.File
}

func (c *chunk) close() {
	for _, f := range c.files {
		_ = f.file.Close() // it is unlinked: nothing to lose
	}
}

// batch gathers the rows of a chunk.
type batch struct {
	fetches     []schema.Fetch
	pages       []schema.Page
	links       [][]link // of an outcome each
	robots      []schema.Robots
	discoveries map[discoveryKey]*schema.Discovery
}

// buildChunk writes the spool's generations up to one, and the outcomes of early,
// as the objects of a chunk; nil when all of them count already.
func (f *fetcher) buildChunk(upTo uint64, early []*outcome) (_ *chunk, err error) {
	c := &chunk{counts: map[string]int64{}}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	w, err := f.createWARC(c)
	if err != nil {
		return nil, err
	}
	defer w.abandon()
	b := &batch{discoveries: map[discoveryKey]*schema.Discovery{}}
	take := func(o *outcome) error {
		if f.sealedAlready(o) {
			return nil
		}
		return f.take(c, b, w, o)
	}
	for _, o := range early {
		if err := take(o); err != nil {
			return nil, err
		}
	}
	_, err = f.spool.ReplayTo(upTo, func(record []byte) error {
		o, err := decodeOutcome(record)
		if err != nil {
			return nil // never whole: it is asked for again
		}
		return take(o)
	})
	if err != nil {
		return nil, fmt.Errorf("seal a chunk: %w", err)
	}
	if len(b.fetches) == 0 {
		c.close()
		return nil, nil
	}
	if err := w.finish(c); err != nil {
		return nil, err
	}
	return c, f.writeBatch(c, b)
}

// sealedAlready says whether an outcome counts by an entry of the log, and
// remembers it as one that will. Only the sealer calls it.
func (f *fetcher) sealedAlready(o *outcome) bool {
	id := o.id()
	if f.sealed.logged[id] || f.seal.counted[id] {
		return true
	}
	f.seal.counted[id] = true
	return false
}

// take adds an outcome to the chunk.
func (f *fetcher) take(c *chunk, b *batch, w *warcOutput, o *outcome) error {
	if o.Web != nil {
		offset, length, err := w.write(o)
		if err != nil {
			return err
		}
		o.Fetch.BlobPath, o.Fetch.BlobOffset, o.Fetch.BlobLength = w.key, offset, length
		if o.Page != nil {
			o.Page.BlobPath, o.Page.BlobOffset, o.Page.BlobLength = w.key, offset, length
		}
	}
	b.fetches = append(b.fetches, o.Fetch)
	if o.Page != nil {
		b.pages = append(b.pages, *o.Page)
	}
	if len(o.links) > 0 {
		b.links = append(b.links, o.links)
	}
	if o.Robots != nil {
		b.robots = append(b.robots, *o.Robots)
	}
	f.discoveries(o, func(d schema.Discovery) { merge(b.discoveries, d) })
	if o.Fetch.Final {
		c.counts[o.Fetch.Kind+" "+o.Fetch.Reason]++
	}
	if o.Fetch.SourceIP != "" {
		c.counts[jobs.CountFrom+o.Fetch.SourceIP]++
	}
	c.counts["bytes"] += o.Fetch.Bytes
	if at := o.Fetch.StartedAt * 1000; at != 0 {
		if c.from == 0 || at < c.from {
			c.from = at
		}
		c.to = max(c.to, at)
	}
	return nil
}

// writeBatch sorts the rows and writes their objects.
func (f *fetcher) writeBatch(c *chunk, b *batch) error {
	slices.SortFunc(b.fetches, compareFetch)
	slices.SortFunc(b.pages, func(x, y schema.Page) int {
		return compareKey(x.Domain, x.Host, x.URL, y.Domain, y.Host, y.URL)
	})
	// The links of an outcome have one source: they stay together, and in their order.
	slices.SortStableFunc(b.links, func(a, b []link) int {
		x, y := &a[0], &b[0]
		return compareKey(x.SrcDomain, x.SrcHost, x.SrcURL, y.SrcDomain, y.SrcHost, y.SrcURL)
	})
	slices.SortFunc(b.robots, func(x, y schema.Robots) int {
		return cmp.Or(cmp.Compare(x.Partition, y.Partition),
			compareKey(x.Domain, x.Authority, "", y.Domain, y.Authority, ""),
			cmp.Compare(x.FetchedAt, y.FetchedAt))
	})
	return errors.Join(
		writeRows(f, c, tasklog.Fetches, b.fetches, false),
		writeRows(f, c, tasklog.Pages, b.pages, false),
		writeLinks(f, c, b.links),
		writeRows(f, c, tasklog.Robots, b.robots, true),
		writeRows(f, c, tasklog.Discoveries, sortedDiscoveries(b.discoveries), true))
}

func compareKey(d1, h1, u1, d2, h2, u2 string) int {
	return cmp.Or(strings.Compare(d1, d2), strings.Compare(h1, h2), strings.Compare(u1, u2))
}

// compareFetch orders rows of fetches by key, then by whole rows.
func compareFetch(x, y schema.Fetch) int {
	return cmp.Or(compareKey(x.Domain, x.Host, x.URL, y.Domain, y.Host, y.URL),
		strings.Compare(x.Kind, y.Kind), cmp.Compare(x.StartedAt, y.StartedAt),
		strings.Compare(x.Reason, y.Reason), strings.Compare(x.Attempt, y.Attempt))
}

// writeRows writes the rows of one kind as an object of the chunk.
func writeRows[R any](f *fetcher, c *chunk, kind string, rows []R, partitioned bool) error {
	return writeEach(f, c, kind, len(rows), partitioned, func(w *rowfile.Writer[R]) error {
		return w.Write(rows...)
	})
}

// writeLinks writes the links of all outcomes where they lie.
func writeLinks(f *fetcher, c *chunk, groups [][]link) error {
	n := 0
	for _, links := range groups {
		n += len(links)
	}
	return writeEach(f, c, tasklog.Links, n, false, func(w *rowfile.Writer[schema.Link]) error {
		for _, links := range groups {
			for i := range links {
				if err := w.WriteRow(&links[i].Link); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// writeEach makes an object of n rows; none makes none.
func writeEach[R any](f *fetcher, c *chunk, kind string, n int, partitioned bool,
	write func(*rowfile.Writer[R]) error) error {
	if n == 0 {
		return nil
	}
	name := fmt.Sprintf("%05d-%s.parquet", f.seal.seq, kind)
	out, err := newOutput(f.env.Scratch, f.key(name))
	if err != nil {
		return err
	}
	w := rowfile.NewWriter[R](out, rowfile.Options{Codec: f.env.Codec, Partitioned: partitioned})
	if err := write(w); err != nil {
		w.Abort()
		return errors.Join(fmt.Errorf("write %s: %w", name, err), out.file.Close())
	}
	if err := w.Finish(); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), out.file.Close())
	}
	return out.finish(c, kind, int64(n))
}

// key names an output of this attempt.
func (f *fetcher) key(name string) layout.Key {
	return layout.Output(f.task.Spec.Job, "fetch", f.task.Index, f.task.Attempt, name)
}

// output is an object on scratch: a file that vanishes with its process, and
// its digest.
type output struct {
	*bufio.Writer
	key  layout.Key
	file *os.File
	hash hash.Hash
	size int64
}

func newOutput(dir string, key layout.Key) (*output, error) {
	file, err := os.CreateTemp(dir, "chunk-*")
	if err != nil {
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("scratch file: %w", err), file.Close())
	}
	o := &output{key: key, file: file, hash: sha256.New()}
	o.Writer = bufio.NewWriterSize(writerFunc(o.write), 256<<10)
	return o, nil
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

func (o *output) write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	o.hash.Write(p[:n])
	o.size += int64(n)
	return n, err
}

// finish adds the object to the chunk.
func (o *output) finish(c *chunk, kind string, rows int64) error {
	if err := o.Flush(); err != nil {
		return errors.Join(fmt.Errorf("scratch file: %w", err), o.file.Close())
	}
	c.files = append(c.files, chunkFile{file: o.file, object: tasklog.Object{Kind: kind, Key: o.key,
		Size: o.size, Rows: rows, Digest: hex.EncodeToString(o.hash.Sum(nil))}})
	return nil
}

// warcOutput is the archive of a chunk.
type warcOutput struct {
	*output
	writer   *warc.Writer
	records  int64
	finished bool
}

// createWARC begins the archive of a chunk with its warcinfo.
func (f *fetcher) createWARC(_ *chunk) (*warcOutput, error) {
	name := warc.FileName("seine", f.started, f.task.Spec.Job, uint64(f.task.Index),
		fmt.Sprint(f.task.Attempt.N), f.seal.seq)
	out, err := newOutput(f.env.Scratch, f.key(name))
	if err != nil {
		return nil, err
	}
	w, err := warc.NewWriter(out, warc.Options{Seed: out.key})
	if err != nil {
		return nil, errors.Join(err, out.file.Close())
	}
	info := warc.Info{Filename: name, Operator: f.set.Contact, Contact: f.set.Contact,
		Software: f.env.Software, UserAgent: agent(f.env.Software, f.set.Agent, f.set.Contact),
		Robots: "obey (RFC 9309)", SettingsVersion: fmt.Sprint(f.set.Version)}
	if _, _, err := w.Write(info.Record("", f.started.UTC())); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", name, err), out.file.Close())
	}
	return &warcOutput{output: out, writer: w}, nil
}

// write archives an exchange: the place is that of the response's record.
func (w *warcOutput) write(o *outcome) (offset, length int64, err error) {
	x := warc.Exchange{URI: o.Fetch.URL, Date: o.Web.Date, IP: o.Web.IP, RawRequest: o.Web.request,
		RawHeader: o.Web.header, RawBody: bytes.NewReader(o.Web.body), Truncated: o.Web.Truncated,
		PayloadType: o.Web.Type, PayloadDigest: o.Web.Digest,
		Protocols: o.Web.Protocols, CipherSuite: o.Web.Cipher,
		Seed: []string{fmt.Sprint(o.Fetch.Round), o.Fetch.Attempt, fmt.Sprint(o.Web.Date.UnixNano())}}
	response, request := x.Records()
	if o.Web.Revisit != nil {
		response.Revisit(warc.ProfileNotModified, *o.Web.Revisit)
	}
	if offset, length, err = w.writer.Write(response); err != nil {
		return 0, 0, fmt.Errorf("archive %s: %w", o.Fetch.URL, err)
	}
	if _, _, err = w.writer.Write(request); err != nil {
		return 0, 0, fmt.Errorf("archive %s: %w", o.Fetch.URL, err)
	}
	w.records++
	return offset, length, nil
}

// finish adds the archive to the chunk, unless it archives nothing.
func (w *warcOutput) finish(c *chunk) error {
	if w.records == 0 {
		return nil
	}
	w.finished = true
	return w.output.finish(c, tasklog.WARC, w.records)
}

// abandon closes an archive that no chunk took.
func (w *warcOutput) abandon() {
	if !w.finished {
		_ = w.file.Close() // it is unlinked: nothing to lose
	}
}
