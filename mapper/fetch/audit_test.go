package fetch

import (
	"context"
	"slices"
	"strings"
	"time"

	"seine/formats/objstore"
	"seine/formats/schema"
	"seine/formats/warc"
	"seine/formats/weburl"
)

// audit checks what must hold of every task, whatever the web did.
func (w *world) audit(s *script, l *left) {
	w.t.Helper()
	w.complete(l)
	w.auditLinks(l)
	w.auditArchive(l)
	if s != nil {
		w.auditManners(s, w.set.Delay.D())
		w.auditOrder(s)
	}
}

// auditLinks: targets are in normal form, and what is accepted is discovered.
func (w *world) auditLinks(l *left) {
	w.t.Helper()
	discovered := map[string]bool{}
	for _, d := range l.events {
		discovered[d.URL] = true
	}
	for _, k := range l.links {
		if k.DstURL != "" && k.Verdict != schema.LinkEmbed {
			u, err := weburl.Normalize(k.DstURL, weburl.Options{})
			if err != nil || u.URL != k.DstURL {
				w.t.Errorf("link to %q is not in normal form (%q, %v)", k.DstURL, u.URL, err)
			}
		}
		if k.Verdict == schema.Accepted && k.DstURL != k.SrcURL && !discovered[k.DstURL] {
			w.t.Errorf("%s is accepted and not discovered", k.DstURL)
		}
	}
}

// record reads the WARC record of a row back.
func (w *world) record(f *schema.Fetch) *warc.Record {
	w.t.Helper()
	for _, c := range w.sealed {
		if c.Key == f.BlobPath {
			src := objstore.Open(context.Background(), w.store, c.Key, c.Size)
			r, err := warc.ReadAt(src, f.BlobOffset, f.BlobLength)
			if err != nil {
				w.t.Fatalf("%s: %v", f.URL, err)
			}
			return r
		}
	}
	w.t.Fatalf("%s: no archive %q", f.URL, f.BlobPath)
	return nil
}

// auditArchive: every response has its record, with digests that hold; a page
// has the digest and place of its record.
func (w *world) auditArchive(l *left) {
	w.t.Helper()
	for _, c := range l.end.Chunks {
		w.sealed = append(w.sealed, c.Objects...)
	}
	digests := map[string]string{}
	for i := range l.fetches {
		f := &l.fetches[i]
		if f.HTTPStatus == 0 {
			continue
		}
		r := w.record(f)
		if err := r.Verify(); err != nil {
			w.t.Errorf("%s: %v", f.URL, err)
		}
		if strings.ContainsAny(r.TargetURI, " \r\n\t") || r.TargetURI != f.URL && isASCII(f.URL) {
			w.t.Errorf("record of %s names %q", f.URL, r.TargetURI)
		}
		if f.Kind == kindPage {
			digests[f.URL] = r.PayloadDigest
		}
	}
	for _, p := range l.pages {
		if p.PayloadDigest == "" || p.PayloadDigest != digests[p.URL] {
			w.t.Errorf("%s: digest %q in pages, %q in the archive", p.URL, p.PayloadDigest, digests[p.URL])
		}
	}
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 0x7e || r <= ' ' }) < 0
}

// auditManners: one request a group at a time, a delay apart.
func (w *world) auditManners(s *script, delay time.Duration) {
	w.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	last := map[string]*seen{}
	for _, r := range s.log {
		host, _, _ := strings.Cut(r.authority, ":")
		g := group(w.set.GroupByHost, w.env.Suffixes.Domain(host), host)
		if before := last[g]; before != nil {
			if before.end.IsZero() || r.at.Sub(before.end) < delay {
				w.t.Errorf("%s was asked for %v after the end of %s", r.url(), r.at.Sub(before.end),
					before.url())
			}
		}
		last[g] = r
	}
}

// auditOrder: robots.txt comes before anything else of its authority.
func (w *world) auditOrder(s *script) {
	w.t.Helper()
	known := map[string]bool{}
	for _, u := range s.requests() {
		authority, target, _ := strings.Cut(u, "/")
		if known[authority] = known[authority] || target == "robots.txt"; !known[authority] &&
			!strings.HasPrefix(target, "hop") {
			w.t.Errorf("%s was asked for before robots.txt", u)
		}
	}
}

// described are the links of a page as "kind verdict target", sorted.
func (l *left) described(src string) []string {
	var list []string
	for _, k := range l.links {
		if k.SrcURL == src {
			list = append(list, strings.TrimSpace(k.Kind+" "+k.Verdict+" "+k.DstURL))
		}
	}
	slices.Sort(list)
	return list
}

// page finds the page row of a URL.
func (l *left) page(url string) (schema.Page, bool) {
	for _, p := range l.pages {
		if p.URL == url {
			return p, true
		}
	}
	return schema.Page{}, false
}

// of finds the rows of a kind.
func (l *left) of(kind string) (rows []schema.Fetch) {
	for _, f := range l.fetches {
		if f.Kind == kind {
			rows = append(rows, f)
		}
	}
	return rows
}

// outcome is how a listed URL ended or why it waits.
func (l *left) outcome(url string) schema.Fetch {
	for _, f := range l.fetches {
		if f.URL == url && f.Final && f.Kind == kindPage {
			return f
		}
	}
	for _, f := range l.waiting {
		if f.URL == url {
			return f
		}
	}
	return schema.Fetch{}
}
