package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// A full takes n bytes and no more; short says so without an error.
type full struct {
	n     int
	short bool
	buf   bytes.Buffer
}

var errFull = errors.New("no space")

func (f *full) Write(p []byte) (int, error) {
	room := min(f.n-f.buf.Len(), len(p))
	f.buf.Write(p[:room])
	if room < len(p) && !f.short {
		return room, errFull
	}
	return room, nil
}

// TestWriteFails: wherever the disk is full, the error is told, nothing follows it, and what was
// written before is whole.
func TestWriteFails(t *testing.T) {
	whole, places := write(t, sample())
	for n := 0; n < len(whole); n += 23 {
		for _, short := range []bool{false, true} {
			want := errFull
			if short {
				want = io.ErrShortWrite
			}
			dst := &full{n: n, short: short}
			w, err := NewWriter(dst, Options{Seed: "x"})
			if err != nil {
				t.Fatal(err)
			}
			done := 0
			var failed error
			for _, rec := range sample() {
				if _, _, err := w.Write(rec); err == nil && failed != nil {
					t.Fatal("a record after the error")
				} else if err != nil {
					failed = err
					continue
				}
				done++
			}
			if !errors.Is(failed, want) {
				t.Fatalf("after %d bytes: %v", n, failed)
			}
			if last := places[done]; int64(n) < last.offset || int64(n) >= last.offset+last.length {
				t.Fatalf("%d records in %d bytes", done, n)
			}
		}
	}
}

// A liar says it is longer than it is.
type liar struct{ *strings.Reader }

func (liar) Size() int64 { return 100 }

type broken struct{}

var errBroken = errors.New("disk broken")

func (broken) Size() int64                       { return 10 }
func (broken) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

func TestBodyFails(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Write(&Record{Type: TypeResource, Body: broken{}}); !errors.Is(err, errBroken) {
		t.Errorf("error is %v", err)
	}
	if _, _, err := w.Write(&Record{Body: content("x")}); !errors.Is(err, errType) {
		t.Errorf("error is %v", err)
	}
	if file.Len() != 0 {
		t.Errorf("%d bytes written", file.Len())
	}
	if _, _, err := w.Write(&Record{Type: TypeResource, Body: content("x")}); err != nil {
		t.Errorf("after a record that could not be read: %v", err)
	}
	_, _, err = w.Write(&Record{Type: TypeResource, Body: liar{strings.NewReader("short")}})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error is %v", err)
	}
	if _, _, err := w.Write(&Record{Type: TypeResource, Body: content("x")}); err == nil {
		t.Error("written after half a record")
	}
	if _, err := NewWriter(&file, Options{Level: 99}); err == nil {
		t.Error("level 99")
	}
}

// TestReadFails: what is no record is ErrCorrupt, what the disk says stays what it says.
func TestReadFails(t *testing.T) {
	file, places := write(t, sample())
	p := places[1]
	member := file[p.offset : p.offset+p.length]
	for n := range member {
		if _, err := ReadAt(bytes.NewReader(member[:n]), 0, int64(n)); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("first %d bytes: %v", n, err)
		}
	}
	for i := range member {
		if i == 8 || i == 9 || i >= 4 && i < 8 {
			continue // gzip's time, flags for speed and system: nobody's concern
		}
		bad := bytes.Clone(member)
		bad[i] ^= 0x55
		if _, err := ReadAt(bytes.NewReader(bad), 0, int64(len(bad))); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("byte %d altered: %v", i, err)
		}
	}
	if _, err := ReadAt(broken{}, 0, 10); !errors.Is(err, errBroken) || errors.Is(err, ErrCorrupt) {
		t.Errorf("disk's error became %v", err)
	}
	for name, raw := range map[string]string{
		"no version":     "HTTP/1.1 200\r\n\r\n",
		"no length":      "WARC/1.1\r\nWARC-Type: x\r\n\r\n",
		"no type":        "WARC/1.1\r\nContent-Length: 0\r\n\r\n",
		"two lengths":    "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\nx",
		"negative":       "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: -1\r\n\r\n",
		"huge":           "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 9999999999\r\n\r\n",
		"bad date":       "WARC/1.1\r\nWARC-Type: x\r\nWARC-Date: soon\r\nContent-Length: 0\r\n\r\n",
		"block too long": "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 1\r\n\r\nxyz\r\n\r\n",
		"endless header": "WARC/1.1\r\n" + strings.Repeat("A: b\r\n", 300_000),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadAt(strings.NewReader(raw), 0, int64(len(raw))); !errors.Is(err, ErrCorrupt) {
				t.Errorf("bare: %v", err)
			}
			z := zipped(raw)
			if _, err := ReadAt(bytes.NewReader(z), 0, int64(len(z))); !errors.Is(err, ErrCorrupt) {
				t.Errorf("zipped: %v", err)
			}
		})
	}
	for _, p := range []place{{-1, 5}, {0, 0}, {5, -1}, {int64(len(file)), 10}} {
		if _, err := ReadAt(bytes.NewReader(file), p.offset, p.length); !errors.Is(err, ErrCorrupt) {
			t.Errorf("place %v: %v", p, err)
		}
	}
}

func zipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.Bytes()
}

// TestForeign: archives of others, bare, of version 1.0, with folded lines and URIs in brackets.
func TestForeign(t *testing.T) {
	const raw = "WARC/1.0\r\nWARC-Type: Response\r\nwarc-target-uri: <http://h.test/>\r\n" +
		"WARC-Date: 2012-03-04T05:06:07Z\r\nX-Folded: a\r\n b\r\nno colon\r\n" +
		"Content-Type: application/http; msgtype=response\r\nContent-Length: 40\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n\r\n" +
		"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
	r := NewReader(strings.NewReader(raw))
	rec, offset, length, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if rec.Type != TypeResponse || rec.TargetURI != "http://h.test/" || rec.Date.Year() != 2012 ||
		len(rec.Extra) != 1 || rec.Extra[0] != [2]string{"X-Folded", "a b"} {
		t.Errorf("record is %+v", rec)
	}
	if got, _ := io.ReadAll(rec.Payload()); string(got) != "hi" {
		t.Errorf("payload %q", got)
	}
	again, err := ReadAt(strings.NewReader(raw), offset, length)
	if err != nil || again.TargetURI != rec.TargetURI {
		t.Errorf("by place: %v", err)
	}
	if rec, _, _, err := r.Next(); err != nil || rec.Type != TypeMetadata {
		t.Errorf("second: %+v, %v", rec, err)
	}
	if _, _, _, err := r.Next(); err != io.EOF {
		t.Errorf("end: %v", err)
	}
}
