package http1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"seine/formats/warc/httpmsg"
)

// framingRoom is what a chunked body may weigh beside its data: as much again, and some.
const framingRoom = 64 << 10

var (
	errTooLong   = errors.New("body longer than allowed")
	errContested = errors.New("content lengths that differ")
)

// receive reads the body as it comes. Its trouble is noted in the response; an error is the
// context's end or this machine's.
func (x *exchange) receive(ctx context.Context, head *httpmsg.Head) error {
	framing := head.Framing()
	x.keep = framing.Reusable && head.Ended()
	var err error
	switch framing.Kind {
	case httpmsg.None:
	case httpmsg.ByChunks:
		err = x.receiveChunks()
	case httpmsg.UntilEnd:
		err = x.receiveBytes(math.MaxInt64)
	default:
		err = x.receiveBytes(framing.N)
	}
	if err == nil && framing.Kind == httpmsg.Contested {
		err = errContested
	}
	if err == nil && !head.Ended() {
		err = io.ErrUnexpectedEOF
	}
	return x.bodyEnded(ctx, err)
}

// bodyEnded notes how a body ended.
func (x *exchange) bodyEnded(ctx context.Context, err error) error {
	if spilled := x.resp.RawBody.err; spilled != nil {
		return fmt.Errorf("keep body of %s%s: %w", x.req.Host, x.req.Target, spilled)
	}
	if err == nil {
		return nil
	}
	x.keep = false
	return x.fault(ctx, err)
}

// fault notes why the body is not whole.
func (x *exchange) fault(ctx context.Context, err error) error {
	r := x.resp
	if errors.Is(err, errTooLong) {
		r.RawTruncated = TruncatedLength
		return nil
	}
	fault := failed(ctx, PhaseBody, err, CodeReset)
	fault.Sent = true
	switch fault.Code {
	case CodeCanceled:
		return fault
	case CodeTooSlow, CodeTotal, CodeFirstByte:
		r.RawTruncated = TruncatedTime
	default:
		r.RawTruncated = TruncatedDisconnect
	}
	if errors.Is(err, httpmsg.ErrChunk) || errors.Is(err, errContested) || errors.Is(err, errH2) {
		fault.Code, r.RawTruncated = CodeMalformed, TruncatedUnspecified
	}
	r.Fault = fault
	return nil
}

// receiveBytes reads a body of n bytes, or to the connection's end when n is MaxInt64.
func (x *exchange) receiveBytes(n int64) error {
	want := min(n, x.maxBody())
	hint := int64(0)
	if n != math.MaxInt64 {
		hint = min(want, hintMax)
	}
	spool := x.client.newSpool(hint)
	x.resp.RawBody, x.resp.Body = spool, spool
	for spool.Size() < want {
		room, err := spool.room()
		if err != nil {
			return err
		}
		room = room[:min(int64(len(room)), want-spool.Size())]
		got, err := x.br.Read(room)
		spool.commit(got)
		if err != nil {
			return endOfBytes(err, n)
		}
	}
	if want == n {
		return nil
	}
	if n == math.MaxInt64 {
		if _, err := x.br.Peek(1); err != nil {
			return endOfBytes(err, n)
		}
	}
	return errTooLong
}

// hintMax bounds the memory that a header's word alone can claim.
const hintMax = 256 << 10

// endOfBytes says whether the stream's end is the body's. Without a length it is, also when TLS was
// not closed as it should be.
func endOfBytes(err error, n int64) error {
	end := err == io.EOF || err == io.ErrUnexpectedEOF
	switch {
	case end && n == math.MaxInt64:
		return nil
	case end:
		return io.ErrUnexpectedEOF
	}
	return err
}

// bounded is a spool that takes no more than a body may weigh.
type bounded struct {
	spool *Spool
	left  int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errTooLong
	}
	return b.spool.Write(p)
}

func (x *exchange) receiveChunks() error {
	most := x.maxBody()
	spool := x.client.newSpool(0)
	x.resp.RawBody, x.resp.Body = spool, spool
	buffer := x.client.buffers.Get().(*[]byte)
	defer x.client.buffers.Put(buffer)
	body := httpmsg.NewChunked(x.br, &bounded{spool, 2*most + framingRoom})
	for payload := int64(0); ; {
		got, err := body.Read((*buffer)[:min(copySize, most+1-payload)])
		if payload += int64(got); payload > most {
			return errTooLong
		}
		if err == nil {
			continue
		}
		x.keep = x.keep && body.Clean()
		if err == io.EOF || body.Whole() || body.Plain() && endOfBytes(err, math.MaxInt64) == nil {
			return nil
		}
		return err
	}
}
