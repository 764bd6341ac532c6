package http1

import (
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
	body := x.client.newSpool(0)
	r.Body = body
	long, err := fill(body, src, set.MaxBody)
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
