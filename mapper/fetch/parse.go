package fetch

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"seine/formats/schema"
	"seine/formats/warc"
	"seine/formats/warc/httpmsg"
	"seine/formats/weburl"
	"seine/mapper/extract"
	"seine/mapper/http1"
)

// parse reads a 2xx body: its page row, its links. A panic of a parser is the
// page's end, not ours.
func (f *fetcher) parse(row *schema.List, u weburl.Normal, x *answer, o *outcome) {
	defer f.parsing(u.URL)()
	defer func() {
		if v := recover(); v != nil {
			o.Page, o.links, o.text = nil, nil, ""
			o.Fetch.Change, o.Fetch.Reason = "", schema.Crashed
			o.Fetch.Detail = bounded(fmt.Sprintf("the parser failed: %v", v), 200)
		}
	}()
	r := x.response
	body, err := r.Body.Bytes()
	if err != nil {
		o.Fetch.Reason, o.Fetch.Detail = schema.Disconnected, bounded(err.Error(), 200)
		return
	}
	if r.Fault != nil && len(body) == 0 { // no version of the page, not even part of one
		o.Fetch.Reason, o.Fetch.Detail = faultReason(r.Fault), bounded(r.Fault.Error(), 200)
		return
	}
	v := f.sheets.For(u)
	page := extract.Extract(extract.Input{URL: u.URL, ContentType: contentType(r),
		Header: r.Header.Values, Token: v.Named(f.set.Agent), Body: body, Truncated: r.Truncated != ""},
		extract.Limits{Links: f.set.MaxLinks})
	o.Web.Type = page.MIMEDetected
	if !slices.Contains(f.types(&v), page.MIMEDetected) {
		o.Fetch.Reason, o.Fetch.Detail = schema.TypeOut, page.MIMEDetected
		o.Web.body, o.Web.Truncated = nil, http1.TruncatedUnspecified
		return
	}
	f.page(row, u, x, o, &page, int64(len(body)))
	o.links = f.linksOf(o, &page, &v)
	o.Fetch.Reason = schema.OK
	if r.Fault != nil {
		o.Fetch.Reason, o.Fetch.Detail = faultReason(r.Fault), bounded(r.Fault.Error(), 200)
	}
}

// faultReason says why a body is not whole.
func faultReason(e *http1.Error) schema.Reason {
	switch e.Code {
	case http1.CodeTooSlow:
		return schema.TooSlow
	case http1.CodeTotal, http1.CodeFirstByte:
		return schema.Timeout
	case http1.CodeReset, http1.CodeEOF:
		return schema.Disconnected
	}
	// Framing that contradicts itself: what came is all there is to have.
	return schema.OK
}

// page makes the row of pages.
func (f *fetcher) page(row *schema.List, u weburl.Normal, x *answer, o *outcome,
	p *extract.Page, size int64) {
	r := x.response
	digest, err := payloadDigest(o.Web)
	if err != nil {
		digest = "" // the archive's own digest will tell
	}
	o.Web.Digest = digest
	o.text = p.Text
	page := &schema.Page{Domain: row.Domain, Host: row.Host, URL: row.URL, URLID: weburl.ID(row.URL),
		PageID: pageID(row.URL, f.task.Spec.Job), Round: int64(f.task.Spec.Job),
		CrawledAt: toMS(x.started), HTTPStatus: int32(r.Status), Headers: headers(r.Header),
		MIMEDeclared: p.MIMEDeclared, MIMEDetected: p.MIMEDetected, Charset: p.Charset,
		Language: p.Language, Title: p.Title, PayloadDigest: digest, Bytes: size,
		Truncated: r.Truncated, NoIndex: p.NoIndex, NoFollow: p.NoFollow,
		ETag:         validator(r.Header.Get("ETag"), 512),
		LastModified: validator(r.Header.Get("Last-Modified"), 64)}
	if p.HasText {
		page.ContentHash, page.SimHash = p.ContentHash, p.SimHash
	}
	if r.Truncated != "" && r.Truncated != http1.TruncatedLength {
		page.ETag, page.LastModified = "", "" // an unfinished body must not be confirmed by a 304
	}
	page.Change = changeOf(row, page)
	if row.BlobPath != "" {
		page.Prior = fmt.Sprintf("%s %d %d", row.BlobPath, row.BlobOffset, row.BlobLength)
	}
	if c, err := weburl.Normalize(p.Canonical,
		weburl.Options{MaxLength: f.set.MaxURLLength}); err == nil {
		page.CanonicalURL = c.URL
	}
	o.Page, o.Fetch.Change = page, page.Change
}

// changeOf compares a body with the one that the list's state speaks of.
func changeOf(row *schema.List, p *schema.Page) string {
	switch {
	case row.BlobPath == "":
		return schema.ChangeNew
	case p.ContentHash != 0 && p.ContentHash == row.ContentHash:
		return schema.ChangeSame
	case p.ContentHash == 0 && row.ContentHash == 0 && p.ETag != "" && p.ETag == row.ETag:
		return schema.ChangeSame // no text to compare, but the server vouches for it
	}
	return schema.ChangeChanged
}

// validator keeps what can be sent back as it came: cut short, it would match
// nothing, or something else.
func validator(s string, n int) string {
	if len(s) > n || strings.IndexFunc(s, func(r rune) bool {
		return r < ' ' || r == 0x7f ||
			r == 0xfffd
	}) >= 0 {
		return ""
	}
	return s
}

// pageID is MD5 of url and round.
func pageID(url string, round uint64) [16]byte {
	return md5.Sum(binary.BigEndian.AppendUint64([]byte(url), round))
}

// headers are the response's fields by lower-case name; repeated ones joined
// as RFC 9110 (5.3) does.
func headers(h http1.Header) map[string]string {
	m := make(map[string]string, len(h))
	for _, field := range h {
		name := strings.ToLower(bounded(field[0], 256))
		value := bounded(field[1], 8192)
		if old, ok := m[name]; ok {
			value = old + ", " + value
		}
		m[name] = value
	}
	return m
}

// contentType is the Content-Type header, several joined.
func contentType(r *http1.Response) string {
	return strings.Join(r.Header.Values("Content-Type"), ", ")
}

// payloadDigest is the digest of the payload without its transfer coding.
func payloadDigest(e *exchange) (string, error) {
	head := httpmsg.ParseHead(e.header)
	if head == nil {
		return "", errors.New("no header")
	}
	return warc.PayloadDigest(head, bytes.NewReader(e.body))
}
