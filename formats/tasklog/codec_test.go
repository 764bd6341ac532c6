package tasklog_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seine/formats/tasklog"
)

var (
	first  = tasklog.Attempt{Epoch: 1, N: 1}
	second = tasklog.Attempt{Epoch: 1, N: 2}
)

// chunk is a chunk that tests can tell from others.
func chunk(a tasklog.Attempt, seq int) tasklog.Chunk {
	return tasklog.Chunk{
		Attempt: a,
		Seq:     seq,
		Objects: []tasklog.Object{{Kind: tasklog.Pages, Key: "rounds/1/" + a.String(), Size: 10, Rows: 2,
			Digest: strings.Repeat("0a", 32)}},
		Counts: map[string]int64{"ok": 1, "http_404": 2},
		From:   5, To: 7,
	}
}

func openEntry(a tasklog.Attempt) tasklog.Entry {
	return tasklog.Entry{Kind: tasklog.KindOpen, Attempt: a}
}

func chunkEntry(a tasklog.Attempt, seq int) tasklog.Entry {
	c := chunk(a, seq)
	return tasklog.Entry{Kind: tasklog.KindChunk, Attempt: a, Chunk: &c}
}

func endEntry(a tasklog.Attempt, chunks ...tasklog.Chunk) tasklog.Entry {
	return tasklog.Entry{Kind: tasklog.KindEnd, Attempt: a, End: &tasklog.End{Chunks: chunks,
		Objects: []tasklog.Object{{Kind: tasklog.Events, Key: "e", Digest: strings.Repeat("ff", 32)}}}}
}

func TestEncodeIsReadable(t *testing.T) {
	data, err := tasklog.Encode(openEntry(tasklog.Attempt{Epoch: 1, N: 3}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"crc32c":"ccd639a9","entry":{"kind":"open","attempt":"e000001-a0003"}}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeEncode(t *testing.T) {
	for _, e := range []tasklog.Entry{openEntry(first), chunkEntry(first, 0), chunkEntry(second, 7),
		endEntry(second), endEntry(second, chunk(first, 0), chunk(second, 0))} {
		data, err := tasklog.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tasklog.Decode("k", data)
		if diff := cmp.Diff(e, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", e.Kind, err, diff)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := tasklog.Encode(chunkEntry(first, 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"empty":           nil,
		"cut":             good[:len(good)-1],
		"data behind":     append(bytes.Clone(good), "{}"...),
		"other version":   bytes.Replace(good, []byte(`"version":1`), []byte(`"version":2`), 1),
		"other content":   bytes.Replace(good, []byte("http_404"), []byte("http_403"), 1),
		"unknown field":   bytes.Replace(good, []byte(`{"version"`), []byte(`{"x":1,"version"`), 1),
		"too long":        bytes.Repeat([]byte(" "), tasklog.MaxEntry+1),
		"not an envelope": []byte(`[]`),
	} {
		_, err := tasklog.Decode("log/7", data)
		if !errors.Is(err, tasklog.ErrCorrupt) || !strings.Contains(err.Error(), "log/7") {
			t.Errorf("%s: got %v, want ErrCorrupt naming the key", name, err)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	bad := func(change func(*tasklog.Entry)) tasklog.Entry {
		e := chunkEntry(first, 0)
		change(&e)
		return e
	}
	for name, e := range map[string]tasklog.Entry{
		"nothing":         {},
		"unknown kind":    bad(func(e *tasklog.Entry) { e.Kind = "seal" }),
		"no attempt":      bad(func(e *tasklog.Entry) { e.Attempt = tasklog.Attempt{} }),
		"no chunk":        bad(func(e *tasklog.Entry) { e.Chunk = nil }),
		"chunk and end":   bad(func(e *tasklog.Entry) { e.End = &tasklog.End{} }),
		"another's chunk": bad(func(e *tasklog.Entry) { e.Chunk.Attempt = second }),
		"negative number": bad(func(e *tasklog.Entry) { e.Chunk.Seq = -1 }),
		"backwards":       bad(func(e *tasklog.Entry) { e.Chunk.To = 1 }),
		"object without":  bad(func(e *tasklog.Entry) { e.Chunk.Objects[0].Key = "" }),
		"negative size":   bad(func(e *tasklog.Entry) { e.Chunk.Objects[0].Size = -1 }),
		"digest in capital": bad(func(e *tasklog.Entry) {
			e.Chunk.Objects[0].Digest = strings.Repeat("FF", 32)
		}),
		"short digest":  bad(func(e *tasklog.Entry) { e.Chunk.Objects[0].Digest = "ff" }),
		"end of nobody": endEntry(first, tasklog.Chunk{}),
	} {
		if data, err := tasklog.Encode(e); err == nil {
			t.Errorf("%s: encoded as %s", name, data)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, e := range []tasklog.Entry{openEntry(first), chunkEntry(first, 0),
		endEntry(second, chunk(first, 0))} {
		data, err := tasklog.Encode(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := tasklog.Decode("k", data)
		if err != nil {
			if !errors.Is(err, tasklog.ErrCorrupt) {
				t.Fatalf("%v is not ErrCorrupt", err)
			}
			return
		}
		again, err := tasklog.Encode(e)
		if err != nil {
			t.Fatalf("decoded, but not to be encoded: %v", err)
		}
		e2, err := tasklog.Decode("k", again)
		if diff := cmp.Diff(e, e2, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v (-first +second):\n%s", err, diff)
		}
	})
}

func TestAttemptText(t *testing.T) {
	for s, a := range map[string]tasklog.Attempt{
		"e000001-a0003":       {Epoch: 1, N: 3},
		"e1234567-a12345":     {Epoch: 1234567, N: 12345},
		"e000000-a0001":       {N: 1},
		"e999999999999-a0000": {Epoch: 999999999999},
	} {
		got, err := tasklog.ParseAttempt(s)
		if err != nil || got != a || a.String() != s {
			t.Errorf("%s is read as %v, %v, and %+v printed as %s", s, got, err, a, a)
		}
	}
	for _, s := range []string{"", "e1-a1", "e000001-a003", "e000001-a00003", "a0001", "e000001",
		"e-00001-a0001", "e+00001-a0001", "e000001-a0001 ", "e99999999999999999999-a0001"} {
		if a, err := tasklog.ParseAttempt(s); err == nil {
			t.Errorf("%q is read as %v", s, a)
		}
	}
}

func TestAttemptOrder(t *testing.T) {
	order := []tasklog.Attempt{{}, {N: 1}, {Epoch: 1}, {Epoch: 1, N: 1}, {Epoch: 1, N: 2},
		{Epoch: 2, N: 1}}
	for i, a := range order {
		for j, b := range order {
			if a.Less(b) != (i < j) || (a.Compare(b) == 0) != (i == j) {
				t.Errorf("%v before %v: %t", a, b, a.Less(b))
			}
		}
	}
}

func FuzzParseAttempt(f *testing.F) {
	for _, s := range []string{"e000001-a0003", "e1-a1", "e000001-a-001", "e000001-a0003-a1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := tasklog.ParseAttempt(s); err == nil && a.String() != s {
			t.Errorf("%q is read as %+v, which prints %s", s, a, a)
		}
	})
}
