package fetch

import (
	"io"
	"strings"
	"testing"

	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/warc"
)

// TestPayloadDigests has section I of the field's cases: the digest is that of
// the payload, however it was framed.
func TestPayloadDigests(t *testing.T) {
	const head, body = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", "hello world"
	digests := map[string]bool{}
	for name, answer := range map[string]reply{
		"one chunk":  raw(head, "Transfer-Encoding: chunked\r\n\r\n", chunked(body)),
		"two chunks": raw(head, "Transfer-Encoding: chunked\r\n\r\n", chunked(body[:4], body[4:])),
		"extensions": raw(head, "Transfer-Encoding: chunked\r\n\r\nb;x=\"y\"\r\n", body,
			"\r\n0\r\nTrailer: z\r\n\r\n"),
		"a length":   raw(head, "Content-Length: 11\r\n\r\n", body),
		"to the end": raw(head, "\r\n", body),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/"] = answer
			trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, w *world,
				l *left) {
				f := l.outcome("http://h.test/")
				r := w.record(&f)
				payload, err := io.ReadAll(r.Payload())
				if err != nil || string(payload) != body {
					t.Errorf("payload %q, %v", payload, err)
				}
				if want := strings.Join(answer.pieces, ""); string(r.HTTPHeader)+bodyOf(t, r) != want {
					t.Errorf("block %q, want %q", string(r.HTTPHeader)+bodyOf(t, r), want)
				}
				digests[r.PayloadDigest] = true
				if want := [2]string{"WARC-Protocol", "http/1.1"}; len(r.Extra) != 1 || r.Extra[0] != want {
					t.Errorf("further fields %q, want %q", r.Extra, want)
				}
			})
		})
	}
	if len(digests) != 1 {
		t.Errorf("digests %v", digests)
	}
}

func bodyOf(t *testing.T, r *warc.Record) string {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(r.Body, 0, r.Body.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestEveryAnswerIsArchived: errors, redirects and robots.txt too; what was cut
// says so; what is not stored leaves its header.
func TestEveryAnswerIsArchived(t *testing.T) {
	s := newScript()
	s.replies["h.test/robots.txt"] = text("User-agent: *\nDisallow:")
	s.replies["h.test/1"] = status(404, "text/html", "not here")
	s.replies["h.test/2"] = moved("/x\r\nWARC-Type: y\r\nWARC-Target-URI: http://evil.test/")
	s.replies["h.test/3"] = raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
		"Content-Length: 99\r\n\r\n<p>x")
	s.replies["h.test/4"] = typed("image/png", "\x89PNG\r\n\x1a\n0000")
	s.replies["h.test/5"] = status(500, "text/html", "oh")
	want := map[string]struct {
		body,
		truncated string
	}{"http://h.test/robots.txt": {"User-agent: *\nDisallow:", ""},
		"http://h.test/1": {"not here", ""}, "http://h.test/2": {"moved", ""},
		"http://h.test/3": {"<p>x", "disconnect"},
		"http://h.test/4": {"", "unspecified"}, "http://h.test/5": {"oh", ""}}
	list := []string{"http://h.test/1", "http://h.test/2", "http://h.test/3", "http://h.test/4",
		"http://h.test/5"}
	trial(t, s, settings.Settings{}, list, func(t *testing.T, w *world, l *left) {
		if len(l.fetches) != len(want) {
			t.Errorf("%d rows", len(l.fetches))
		}
		for i := range l.fetches {
			f := &l.fetches[i]
			r, c := w.record(f), want[f.URL]
			if bodyOf(t, r) != c.body || r.Truncated != c.truncated || r.Type != warc.TypeResponse ||
				r.TargetURI != f.URL || r.IP == "" {
				t.Errorf("%s: %s of %s, body %q, truncated %q", f.URL, r.Type, r.TargetURI, bodyOf(t, r),
					r.Truncated)
			}
		}
	})
}

// TestRevisits refer to what was committed, and to nothing else.
func TestRevisits(t *testing.T) {
	s := newScript()
	s.replies["h.test/held"] = raw("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n")
	s.replies["h.test/new"] = raw("HTTP/1.1 304 Not Modified\r\n\r\n")
	synctestWorld(t, s, func(t *testing.T, w *world) {
		w.list(schema.List{URL: "http://h.test/held", ETag: `"a"`, BlobPath: "rounds/1/x.warc.gz",
			BlobLength:  9,
			LastCrawled: 1000}, schema.List{URL: "http://h.test/new", ETag: `"b"`})
		l := w.mustRun()
		w.audit(s, l)
		held, fresh := l.outcome("http://h.test/held"), l.outcome("http://h.test/new")
		if held.Reason != schema.NotModified || fresh.Reason != schema.OddStatus {
			t.Errorf("end as %s, %s", held.Reason, fresh.Reason)
		}
		if r := w.record(&held); r.Type != warc.TypeRevisit ||
			r.RefersToTargetURI != "http://h.test/held" {
			t.Errorf("record %s of %q", r.Type, r.RefersToTargetURI)
		}
		if r := w.record(&fresh); r.Type != warc.TypeResponse {
			t.Errorf("record %s", r.Type)
		}
		if strings.Contains(s.log[2].head, "If-None-Match") {
			t.Errorf("a condition without a body: %q", s.log[2].head)
		}
	})
}

// TestValidatorsFromHostileServers come back as they came, or not at all.
func TestValidatorsFromHostileServers(t *testing.T) {
	for etag, want := range map[string]string{`"a"`: `"a"`, `W/"a"`: `W/"a"`, `"` +
		strings.Repeat("x", 600) + `"`: ""} {
		s := newScript()
		s.replies["h.test/"] = html("x", "ETag: "+etag)
		trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
			l *left) {
			if p, _ := l.page("http://h.test/"); p.ETag != want {
				t.Errorf("etag %.20q is kept as %.20q", etag, p.ETag)
			}
		})
	}
}

// TestBrotliIsNotAskedFor, and read when it comes.
func TestBrotliIsNotAskedFor(t *testing.T) {
	s := newScript()
	s.replies["h.test/"] = html("\x0b\x04\x80<p>hello\n\x03", "Content-Encoding: br")
	trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
		l *left) {
		if p, ok := l.page("http://h.test/"); !ok || p.Text != "hello" {
			t.Errorf("page %v, text %q", ok, p.Text)
		}
		for _, r := range s.log {
			if strings.Contains(r.head, "br") && !strings.Contains(r.head, "Accept-Encoding: gzip\r\n") {
				t.Errorf("request %q", r.head)
			}
		}
	})
}
