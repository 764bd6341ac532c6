package spool

import (
	"bytes"
	"testing"
)

// file is a generation's file with these records.
func file(payloads ...[]byte) []byte {
	var s Spool
	var out []byte
	for _, p := range payloads {
		record := s.encode(len(p), [][]byte{p})
		out = append(out, record...)
		s.current.size = int64(len(out))
	}
	return out
}

// FuzzReplay: of any file, what is read is what was written at its beginning, and every byte is
// accounted for.
func FuzzReplay(f *testing.F) {
	f.Add(file([]byte("a")))
	f.Add(file([]byte("first"), nil, []byte("third")))
	f.Add(file([]byte("first"), []byte("second"))[:40])
	f.Add([]byte{})
	f.Add([]byte(magic + "\xff\xff\xff\xff0000"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return // Replay opens no empty file
		}
		var r Recovery
		var got [][]byte
		err := replayFile(bytes.NewReader(data), int64(len(data)), &r, func(p []byte) error {
			got = append(got, bytes.Clone(p))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		again := file(got...)
		if !bytes.HasPrefix(data, again) {
			t.Fatalf("records %q are not those of the file", got)
		}
		left := len(data) - len(again)
		if len(got) == 0 && r.Lost == int64(len(data)-len(magic)) {
			left -= len(magic)
		}
		if r.Lost != int64(left) && !(len(got) == 0 && left == len(magic)) {
			t.Fatalf("%d bytes: %d are records, %+v", len(data), len(again), r)
		}
		if (r.Lost > 0) != (r.Torn+r.Damaged == 1) {
			t.Fatalf("recovery %+v", r)
		}
	})
}
