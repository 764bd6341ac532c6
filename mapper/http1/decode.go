package http1

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"seine/formats/warc/httpmsg"
)

// maxCodings is how many layers are undone; more are no mistake but an attack.
const maxCodings = 4

// decode fills the response's Body from what came. It reads only RawHeader and RawBody, so that an
// archive's reader can come to the same.
func (x *exchange) decode() error {
	r, set := x.resp, &x.client.set
	r.Truncated = r.RawTruncated
	head := &httpmsg.Head{Proto: r.Proto, Status: r.Status, Header: r.Header, Raw: r.RawHeader}
	framing := head.Framing()
	codings := codingsOf(r.Header)
	if r.RawBody.Size() == 0 || len(codings) == 0 && framing.Kind != httpmsg.ByChunks {
		return nil
	}
	stack := &layers{client: x.client}
	defer stack.release()
	var src io.Reader = head.Payload(r.RawBody.Reader())
	for _, coding := range codings {
		src = stack.push(coding, src)
	}
	body := newSpool(x.client.files, decodedRoom*set.SpillBytes, decodedSize(codings, r.RawBody))
	r.Body = body
	long, err := fill(body, src, x.maxBody())
	if body.err != nil {
		return fmt.Errorf("keep body of %s%s: %w", x.req.Host, x.req.Target, body.err)
	}
	cut := r.RawTruncated != ""
	switch {
	case long:
		r.Truncated = TruncatedLength
	case stack.ended():
		r.Truncated = ""
	case err == nil || cut:
	case len(codings) > 0:
		r.DecodeError = err
		if framing.Kind == httpmsg.UntilEnd && err == io.ErrUnexpectedEOF {
			r.Truncated = TruncatedDisconnect
		}
	}
	return nil
}

// decodedRoom is how many times SpillBytes of a decoded body stay in memory: it exists for the short
// while in which it is read, and a page that goes to a file for that costs more than it saves.
const decodedRoom = 4

// decodedSize guesses the size of a gzipped body from what its last member claims (RFC 1952,
// 2.3.1), with room to find the end. It is a guess: the claim is bounded, and may be wrong.
func decodedSize(codings []string, raw *Spool) int64 {
	var claim [4]byte
	if len(codings) != 1 || codings[0] != "gzip" || raw.flushed > 0 || raw.Size() < int64(len(claim)) {
		return 0
	}
	if _, err := raw.ReadAt(claim[:], raw.Size()-int64(len(claim))); err != nil {
		return 0
	}
	return min(int64(binary.LittleEndian.Uint32(claim[:])), hintMax) + 1
}

// codingsOf lists the codings to undo, outermost first. Tokens that name none are no coding.
func codingsOf(h Header) []string {
	var codings []string
	for _, token := range append(h.Tokens("Content-Encoding"), h.Tokens("Transfer-Encoding")...) {
		switch token {
		case "gzip", "x-gzip":
			codings = append(codings, "gzip")
		case "deflate", "br":
			codings = append(codings, token)
		}
	}
	slices.Reverse(codings)
	return codings[:min(len(codings), maxCodings)]
}

// fill copies up to limit bytes. long means that there were more.
func fill(dst *Spool, src io.Reader, limit int64) (long bool, err error) {
	for dst.Size() < limit {
		room, err := dst.room()
		if err != nil {
			return false, err
		}
		n, err := src.Read(room[:min(int64(len(room)), limit-dst.Size())])
		dst.commit(n)
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	var more [1]byte
	for {
		n, err := src.Read(more[:])
		if n > 0 || err != nil {
			return n > 0, nil
		}
	}
}
