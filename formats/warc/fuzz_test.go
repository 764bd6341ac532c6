package warc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// FuzzReader: no input panics; what is read has a place from which it is read again; all that is no
// record is ErrCorrupt.
func FuzzReader(f *testing.F) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Options{})
	if err != nil {
		f.Fatal(err)
	}
	for _, rec := range sample() {
		offset, _, err := w.Write(rec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(file.Bytes()[offset:]))
	}
	bare, err := os.ReadFile("testdata/sample.warc")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bare)
	f.Add([]byte("WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in))
		for {
			rec, offset, length, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("error %v is of no class", err)
				}
				return
			}
			again, err := ReadAt(bytes.NewReader(in), offset, length)
			if err != nil {
				t.Fatalf("at %d+%d: %v", offset, length, err)
			}
			if again.ID != rec.ID || blockOf(t, again) != blockOf(t, rec) {
				t.Fatalf("at %d+%d: another record", offset, length)
			}
			rec.HTTP().Framing()
			_, _ = io.Copy(io.Discard, rec.Payload())
			_ = rec.Verify()
		}
	})
}

// FuzzRecord: whatever the fields and the block hold, one record is written and it is that record.
func FuzzRecord(f *testing.F) {
	f.Add("http://h.test/", "text/plain", []byte(lengthHead), []byte("hello world"))
	f.Add("a b\r\nWARC-Type: x", "\r\n\r\n", []byte(""), []byte("\r\n\r\nWARC/1.1"))
	f.Add("é", "\x00", []byte(chunkedHead), []byte("5\r\nhello"))
	f.Fuzz(func(t *testing.T, uri, field string, head, body []byte) {
		rec := &Record{
			Type: TypeResponse, TargetURI: uri, Date: time.Unix(0, 0), IdentifiedPayloadType: field,
			HTTPHeader: head, Body: bytes.NewReader(body), Extra: [][2]string{{field, uri}, {"X-A", field}},
		}
		file, places := write(t, []*Record{rec, {Type: TypeMetadata, Date: time.Unix(0, 0)}})
		got, err := ReadAt(bytes.NewReader(file), places[0].offset, places[0].length)
		if err != nil {
			t.Fatal(err)
		}
		if got.Type != rec.Type || got.ID != rec.ID || got.TargetURI != targetURI(uri) {
			t.Fatalf("record is %+v", got)
		}
		if blockOf(t, got) != string(head)+string(body) {
			t.Fatalf("block is %q", blockOf(t, got))
		}
		if got.BlockDigest != rec.BlockDigest {
			t.Fatalf("block digest %s, not %s", got.BlockDigest, rec.BlockDigest)
		}
	})
}
