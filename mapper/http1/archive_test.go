package http1

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"seine/formats/warc"
)

// TestArchived: every odd response is found again in an archive, with the status, the payload and
// the bytes that the fetcher saw.
func TestArchived(t *testing.T) {
	var file bytes.Buffer
	w, err := warc.NewWriter(&file, warc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, cases := range [][]rawCase{headerCases(), lengthCases(), chunkCases(), codingCases()} {
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) { archive(t, w, &file, tc) })
		}
	}
}

func archive(t *testing.T, w *warc.Writer, file *bytes.Buffer, tc rawCase) {
	resp, err := play(tc.raw)
	if err != nil {
		t.Fatal(err)
	}
	ex := warc.Exchange{
		URI: "http://h.test/", Date: time.Unix(0, 0), RawRequest: resp.RawRequest,
		RawHeader: resp.RawHeader, RawBody: resp.RawBody, Truncated: resp.RawTruncated,
	}
	record, _ := ex.Records()
	offset, length, err := w.Write(record)
	if err != nil {
		t.Fatal(err)
	}
	got, err := warc.ReadAt(bytes.NewReader(file.Bytes()), offset, length)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Verify(); err != nil {
		t.Error(err)
	}
	if head := got.HTTP(); head.Status != resp.Status || head.Proto != resp.Proto {
		t.Errorf("archived %s %d, fetched %s %d", head.Proto, head.Status, resp.Proto, resp.Status)
	}
	raw, err := io.ReadAll(io.NewSectionReader(got.Body, 0, got.Body.Size()))
	if err != nil || string(raw) != body(t, resp.RawBody) ||
		!bytes.Equal(got.HTTPHeader, resp.RawHeader) {
		t.Errorf("archived %q and %q, %v", got.HTTPHeader, raw, err)
	}
	if len(codingsOf(resp.Header)) > 0 {
		return // the payload keeps its content coding
	}
	payload, err := io.ReadAll(got.Payload())
	if string(payload) != body(t, resp.Body) {
		t.Errorf("payload %q, fetched %q", payload, body(t, resp.Body))
	}
	if err != nil && (resp.Truncated == "" || errors.Is(err, warc.ErrCorrupt)) {
		t.Errorf("payload of a whole body: %v", err)
	}
}
