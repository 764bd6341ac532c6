package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/schema"
	"seine/formats/warc"
	"seine/formats/weburl"
)

// pages holds pages and fetches to each other: a page has a final row with a 2xx
// status, a row of reason ok a page, and both a place in an archive of the
// snapshot; with ReadData the record there is read and its digests are compared.
func (a *auditor) pages(ctx context.Context) error {
	archives := map[layout.Key]int64{}
	total := int64(0)
	for _, p := range a.m.Parts {
		for _, w := range p.WARC {
			archives[w.Key] = w.Bytes
		}
		for _, o := range p.Tables[schema.Pages] {
			total += o.Rows
		}
	}
	for _, rng := range layout.Split(int(total/slice) + 1) {
		if err := a.pageSlice(ctx, rng, archives); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) pageSlice(ctx context.Context, rng layout.Range, archives map[layout.Key]int64) error {
	seen := map[turn]layout.Key{}
	pruned, unasked := a.pruned()
	columns := []string{"domain", "host", "url", "url_id", "round", "payload_digest", "html_blob_path",
		"blob_offset", "blob_length"}
	var last schema.Page
	var in layout.Key
	err := eachPart(ctx, a, schema.Pages, columns, func(o lsm.Object, row *schema.Page, at int64) error {
		if in == o.Key {
			order := byURL(last.Domain, last.Host, last.URL, row.Domain, row.Host, row.URL)
			if order > 0 || order == 0 && unasked[row.Round] && last.Round <= row.Round {
				a.find("pages", o.Key, fmt.Sprintf("row %d is out of order", at), nextReport)
			}
		}
		last, in = *row, o.Key
		if !rng.Holds(weburl.Partition(row.Domain)) {
			return nil
		}
		a.checked(schema.Pages, 1)
		t := turn{row.Round, strings.Clone(row.URL)}
		if seen[t] != "" {
			a.find("pages", o.Key, fmt.Sprintf("row %d: %s is there twice for round %d", at, row.URL, row.Round),
				nextReport)
		}
		if !unasked[row.Round] {
			seen[t] = o.Key
		}
		if row.URLID != weburl.ID(row.URL) {
			a.find("pages", o.Key, fmt.Sprintf("row %d: url_id is not that of %s", at, row.URL), nextReport)
		}
		return a.place(ctx, archives, o.Key, at, place{row.URL, row.BlobPath, row.BlobOffset, row.BlobLength,
			row.PayloadDigest})
	})
	if err != nil {
		return err
	}
	columns = []string{"domain", "url", "round", "final", "kind", "http_status", "reason", "warc_path",
		"warc_offset", "warc_length"}
	err = eachPart(ctx, a, schema.Fetches, columns, func(o lsm.Object, row *schema.Fetch, at int64) error {
		if !rng.Holds(weburl.Partition(row.Domain)) {
			return nil
		}
		t := turn{row.Round, row.URL}
		if row.Kind == "page" && row.Final {
			if _, ok := seen[t]; !ok && row.Reason == schema.OK && !pruned[row.Round] {
				a.find("pages", o.Key, fmt.Sprintf("row %d: %s was stored in round %d, but pages does not have it",
					at, row.URL, row.Round), nextReport)
			}
			if row.HTTPStatus >= 200 && row.HTTPStatus <= 299 {
				delete(seen, t)
			}
		}
		if row.BlobPath == "" {
			return nil
		}
		return a.place(ctx, archives, o.Key, at, place{row.URL, row.BlobPath, row.BlobOffset, row.BlobLength, ""})
	})
	for t, object := range seen {
		a.find("pages", object, fmt.Sprintf("%s of round %d has no final 2xx row in fetches", t.url, t.round),
			nextReport)
	}
	return err
}

// pruned gives the rounds of which retention has taken rows of pages away, and
// those whose fetches are gone.
func (a *auditor) pruned() (rows, unasked map[int64]bool) {
	rows, unasked = map[int64]bool{}, map[int64]bool{}
	for _, p := range a.m.Parts {
		for job := p.Oldest(); p.Pruned && job <= p.Round; job++ {
			rows[int64(job)] = true
			unasked[int64(job)] = len(p.Tables[schema.Fetches]) == 0
		}
	}
	return rows, unasked
}

// place is where a row says that its record is.
type place struct {
	url            string
	archive        layout.Key
	offset, length int64
	digest         string // of the payload; "": not compared
}

func (a *auditor) place(ctx context.Context, archives map[layout.Key]int64, object layout.Key, at int64,
	p place) error {
	bytes, ok := archives[p.archive]
	switch {
	case !ok:
		a.find("pages", object, fmt.Sprintf("row %d, %s, lies in %s, which the snapshot does not have", at, p.url,
			p.archive), nextReport)
		return nil
	case p.offset < 0 || p.length <= 0 || p.offset+p.length > bytes:
		a.find("pages", object, fmt.Sprintf("row %d, %s, lies beyond the end of %s", at, p.url, p.archive),
			nextReport)
		return nil
	case !a.o.ReadData || a.broken[p.archive]:
		return nil
	}
	a.checked("records", 1)
	err := a.record(ctx, p, bytes)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, objstore.ErrUnavailable) {
		return err
	}
	a.find("pages", p.archive, fmt.Sprintf("record at %d, of %s: %v", p.offset, p.url, err), nextRestore)
	return nil
}

// record reads a record and compares its digests, its URL and the page's digest.
func (a *auditor) record(ctx context.Context, p place, bytes int64) error {
	src, err := a.Open(ctx, p.archive, bytes)
	if err != nil {
		return err
	}
	if c, ok := src.(io.Closer); ok {
		defer func() { _ = c.Close() }() // only read
	}
	r, err := warc.ReadAt(src, p.offset, p.length)
	if err != nil {
		return err
	}
	switch {
	case r.TargetURI != p.url:
		return fmt.Errorf("it is of %s", r.TargetURI)
	case r.Type != warc.TypeResponse && r.Type != warc.TypeRevisit:
		return fmt.Errorf("it is a %s", r.Type)
	case p.digest != "" && r.PayloadDigest != p.digest:
		return fmt.Errorf("its payload digest is %s, the page's %s", r.PayloadDigest, p.digest)
	case p.digest == "" && r.Type == warc.TypeResponse:
		return nil // the page's row, where there is one, has had it verified
	}
	return r.Verify()
}
