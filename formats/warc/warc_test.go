package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seine/formats/warc/httpmsg"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var when = time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.FixedZone("", 3600))

const (
	rawRequest  = "GET /a HTTP/1.1\r\nHost: h.test\r\n\r\n"
	lengthHead  = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n"
	chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)

func content(s string) Content { return bytes.NewReader([]byte(s)) }

// sample is one archive with each kind of record.
func sample() []*Record {
	info := Info{
		Filename: "x.warc.gz", Operator: "Ann\r\nX: y", Contact: "ann@x.test", Software: "seine/1",
		Robots: "obey (RFC 9309)", SettingsVersion: "7", IsPartOf: "crawl",
	}.Record("", when)
	ex := Exchange{
		URI: "http://h.test/a", Date: when, IP: "192.0.2.1", RawRequest: []byte(rawRequest),
		RawHeader: []byte(lengthHead), RawBody: content("hello world"), PayloadType: "text/plain",
		Seed: []string{"3", "1"}, Protocols: []string{"h2", "tls/1.3"},
		CipherSuite: "TLS_AES_128_GCM_SHA256",
	}
	response, request := ex.Records()
	ex.Protocols, ex.CipherSuite = []string{"http/1.1"}, ""
	chunked := ex
	chunked.URI, chunked.RawHeader = "http://h.test/b", []byte(chunkedHead)
	chunked.RawBody = content("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
	second, _ := chunked.Records()
	cut := ex
	cut.URI, cut.RawHeader, cut.Truncated = "http://h.test/c", []byte(chunkedHead), "disconnect"
	cut.RawBody = content("5\r\nhello\r\n6\r\n wo")
	third, _ := cut.Records()
	bare := ex
	bare.URI, bare.RawHeader, bare.RawBody = "http://h.test/d", nil, content("<html>")
	fourth, _ := bare.Records()
	unchanged := ex
	unchanged.URI, unchanged.RawHeader = "http://h.test/e", []byte("HTTP/1.1 304 Not Modified\r\n\r\n")
	revisit, _ := unchanged.Records()
	revisit.Revisit(ProfileNotModified, Original{
		ID: response.ID, URI: "http://h.test/e", Date: when.Add(-time.Hour),
		PayloadDigest: "sha1:VBVZ3PRTEFFH6GK4TZV7TJ5JCYCHZLVZ",
	})
	same, _ := ex.Records()
	same.ID = ""
	same.Revisit(ProfileSamePayload, Original{URI: "http://h.test/b", Date: when,
		PayloadDigest: "sha1:FKXGYNOJJ7H3IFO35FPUBC445EPOQRXN"})
	robots := ex
	robots.URI, robots.RawHeader = "http://h.test/robots.txt", []byte("HTTP/1.1 404 No\r\n\r\n")
	robots.RawBody = nil
	missing, _ := robots.Records()
	return []*Record{info, response, request, second, third, fourth, revisit, same, missing, {
		Type: TypeMetadata, Date: when, TargetURI: "http://h.test/a", ContentType: ContentFields,
		ConcurrentTo: []string{response.ID, request.ID}, Body: content("via: seed\r\n"),
		Extra: [][2]string{{"X-Seine-Reason", "ok"}, {"bad name", "x"}, {"WARC-Type", "evil"}},
	}, {
		Type: TypeResource, Date: when, TargetURI: "http://h.test/f", ContentType: "text/plain",
		Body: content("a file"),
	}}
}

type place struct{ offset, length int64 }

func write(t *testing.T, records []*Record) ([]byte, []place) {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, Options{Seed: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var places []place
	for _, rec := range records {
		if w.Offset() != int64(file.Len()) {
			t.Fatalf("offset %d in a file of %d", w.Offset(), file.Len())
		}
		offset, length, err := w.Write(rec)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, place{offset, length})
	}
	return file.Bytes(), places
}

func blockOf(t *testing.T, rec *Record) string {
	t.Helper()
	b, err := io.ReadAll(rec.bodyReader())
	if err != nil {
		t.Fatal(err)
	}
	return string(rec.HTTPHeader) + string(b)
}

func TestGolden(t *testing.T) {
	file, _ := write(t, sample())
	zr, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/sample.warc"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
	again, _ := write(t, sample())
	if !bytes.Equal(file, again) {
		t.Error("the same records gave other bytes")
	}
}

// TestRoundTrip: a record is read back as it was written, by place and in sequence.
func TestRoundTrip(t *testing.T) {
	records := sample()
	file, places := write(t, records)
	seq := NewReader(iotest.HalfReader(bytes.NewReader(file)))
	for i, want := range records {
		got, err := ReadAt(bytes.NewReader(file), places[i].offset, places[i].length)
		if err != nil {
			t.Fatal(err)
		}
		next, offset, length, err := seq.Next()
		if err != nil || (place{offset, length}) != places[i] {
			t.Fatalf("record %d at %d+%d, want %v; %v", i, offset, length, places[i], err)
		}
		if a, b, c := blockOf(t, want), blockOf(t, got), blockOf(t, next); a != b || a != c {
			t.Errorf("block %q became %q, %q", a, b, c)
		}
		if diff := cmp.Diff(string(want.HTTPHeader), string(got.HTTPHeader)); diff != "" {
			t.Errorf("HTTP header: %s", diff)
		}
		if err := got.Verify(); err != nil {
			t.Error(err)
		}
		w, g := *want, *got
		w.Body, w.HTTPHeader, g.Body, g.HTTPHeader = nil, nil, nil, nil
		w.Date, w.RefersToDate = micro(w.Date), micro(w.RefersToDate)
		if w.Type == TypeMetadata {
			w.Extra = w.Extra[:1]
		}
		if diff := cmp.Diff(w, g); diff != "" {
			t.Errorf("record %d (-want +got):\n%s", i, diff)
		}
	}
	if _, _, _, err := seq.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func micro(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Microsecond)
}

// TestPayload: of a response, what a reader of the page wants.
func TestPayload(t *testing.T) {
	file, places := write(t, sample())
	for i, want := range map[int]string{
		1: "hello world", 3: "hello world", 5: "<html>", 8: "", 10: "a file",
	} {
		rec, err := ReadAt(bytes.NewReader(file), places[i].offset, places[i].length)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(rec.Payload()); err != nil || string(got) != want {
			t.Errorf("record %d: %q, %v, want %q", i, got, err, want)
		}
	}
	rec, err := ReadAt(bytes.NewReader(file), places[4].offset, places[4].length)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(rec.Payload()); err != io.ErrUnexpectedEOF || string(got) != "hello wo" {
		t.Errorf("cut payload: %q, %v", got, err)
	}
	if head := rec.HTTP(); head.Status != 200 || head.Header.Get("transfer-encoding") != "chunked" {
		t.Errorf("head is %+v", head)
	}
}

// TestPayloadDigest: the digest of a page does not depend on how it was sent (cases.md 125).
func TestPayloadDigest(t *testing.T) {
	want, err := Digest(strings.NewReader("hello world"))
	if err != nil || want != "sha1:FKXGYNOJJ7H3IFO35FPUBC445EPOQRXN" {
		t.Fatalf("%s, %v", want, err)
	}
	for name, c := range map[string]struct{ head, body string }{
		"length":     {lengthHead, "hello world"},
		"end":        {"HTTP/1.0 200 OK\r\n\r\n", "hello world"},
		"one chunk":  {chunkedHead, "b\r\nhello world\r\n0\r\n\r\n"},
		"two chunks": {chunkedHead, "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: x\r\n\r\n"},
		"cut after":  {chunkedHead, "b\r\nhello world\r\n"},
		"junk after": {chunkedHead, "b\r\nhello world\r\nzzz"},
		"no chunks":  {chunkedHead, "hello world"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := PayloadDigest(httpmsg.ParseHead([]byte(c.head)), strings.NewReader(c.body))
			if err != nil || got != want {
				t.Errorf("%s, %v, want %s", got, err, want)
			}
			ex := Exchange{URI: "http://h.test/", RawHeader: []byte(c.head), RawBody: content(c.body)}
			rec, _ := ex.Records()
			write(t, []*Record{rec})
			if rec.PayloadDigest != want {
				t.Errorf("written %s, want %s", rec.PayloadDigest, want)
			}
		})
	}
}

// TestInjection: no value leaves its line (cases.md 131).
func TestInjection(t *testing.T) {
	const evil = "x\r\nWARC-Type: evil\n\nWARC/1.1\r\x00\u2028é"
	rec := &Record{
		Type: "response" + evil, ID: evil, Date: when, TargetURI: "http://h.test/a b\r\nX: y\té<>",
		ConcurrentTo: []string{evil}, RefersTo: evil, RefersToTargetURI: evil, Profile: evil,
		WarcinfoID: evil, Filename: evil, IP: evil, PayloadDigest: evil, BlockDigest: evil,
		Truncated: evil, IdentifiedPayloadType: evil, ContentType: evil,
		Extra: [][2]string{{"X", evil}, {evil, "x"}},
	}
	file, _ := write(t, []*Record{rec})
	zr, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\r\n")
	if len(lines) != 23 || strings.Count(string(raw), "\n") != 22 {
		t.Errorf("%d lines:\n%s", len(lines), raw)
	}
	if want := "WARC-Target-URI: http://h.test/a%20b%0D%0AX:%20y%09%C3%A9%3C%3E"; lines[4] != want {
		t.Errorf("target is %q, want %q", lines[4], want)
	}
	for _, line := range lines[1:] {
		if strings.HasPrefix(line, "WARC-Type: evil") {
			t.Errorf("line %q", line)
		}
	}
}

func TestFileName(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{FileName("SEINE", when, 12, 3, "1", 7),
			"SEINE-20260102020405-r00000012-t00003-a01-00007.warc.gz"},
		{FileName("a/b c", when, 123456789, 123456, "12-xyz", 123456),
			"a_b_c-20260102020405-r123456789-t123456-a12-xyz-123456.warc.gz"},
	} {
		if tc.got != tc.want {
			t.Errorf("name is %s, want %s", tc.got, tc.want)
		}
	}
}

func TestRecordID(t *testing.T) {
	a, b := RecordID("a", "bc"), RecordID("ab", "c")
	if a == b || a != RecordID("a", "bc") {
		t.Errorf("%s and %s", a, b)
	}
	if len(a) != len("urn:uuid:")+36 || a[23] != '5' || !strings.ContainsRune("89ab", rune(a[28])) {
		t.Errorf("%s is no UUID of version 5", a)
	}
}

func TestVerify(t *testing.T) {
	records := sample()
	file, places := write(t, records)
	rec, err := ReadAt(bytes.NewReader(file), places[1].offset, places[1].length)
	if err != nil {
		t.Fatal(err)
	}
	rec.Body = content("hello w0rld")
	if err := rec.Verify(); !errors.Is(err, ErrDigest) {
		t.Errorf("altered record: %v", err)
	}
}
