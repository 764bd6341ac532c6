package http1

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"seine/formats/warc/httpmsg"
)

// The protocols of ALPN. HTTP/2 is spoken with servers that refuse the other: a connection serves
// one request at a time here, and what an archive keeps is the text of HTTP/1.1.
const (
	alpnHTTP1 = "http/1.1"
	alpnHTTP2 = "h2"
)

// Proto2 is the protocol of a response that came by HTTP/2. Its RawHeader, and the RawRequest, are
// the same message in the form of HTTP/1.1; its RawBody is what the data frames held.
const Proto2 = "HTTP/2"

// h2Window is what the server may send without being asked for more: all that there is. The caps on
// bodies and the pace of reading bound it, as for HTTP/1.1.
const h2Window = 1<<31 - 1

// h2Frames is how many frames may come that bring nothing: beyond, they are an attack.
const h2Frames = 10_000

// h2Frame is the size of a frame that every peer takes.
const h2Frame = 16 << 10

var errH2 = errors.New("broken HTTP/2")

// connection are the fields that HTTP/2 has no place for.
var connection = []string{"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}

// An h2Talk is one exchange by HTTP/2, alone on its connection: stream 1.
type h2Talk struct {
	x      *exchange
	frames *http2.Framer
	out    bytes.Buffer // frames that are not sent yet
	idle   int          // frames that brought nothing
	head   *httpmsg.Head
}

// talkH2 sends the request and reads the response. The connection is closed afterwards.
func (x *exchange) talkH2(ctx context.Context) error {
	set := &x.client.set
	t := &h2Talk{x: x}
	t.frames = http2.NewFramer(&t.out, x.br)
	t.frames.SetReuseFrames()
	t.frames.SetMaxReadFrameSize(h2Frame)
	t.frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	t.frames.MaxHeaderListSize = uint32(set.MaxHeader)
	t.request()
	if err := x.write(ctx, t.out.Bytes()); err != nil {
		return err
	}
	t.out.Reset()
	sent := time.Now()
	x.conn.until(sent.Add(set.FirstByteTimeout), errFirstByte)
	before := x.conn.in
	ended, err := t.untilHead()
	var broken http2.ConnectionError
	if errors.As(err, &broken) && x.conn.in-before > int64(set.MaxHeader) {
		err = fmt.Errorf("%w: %w", httpmsg.ErrTooLarge, err) // the framer says that only sometimes
	}
	if err != nil {
		return x.headError(ctx, err)
	}
	r := x.resp
	r.TTFB = time.Since(sent)
	r.Status, r.Proto, r.Header, r.RawHeader = t.head.Status, Proto2, t.head.Header, t.head.Raw
	x.conn.keepRate(set.MinRate, set.RateWindow)
	spool := x.client.newSpool(0)
	r.RawBody, r.Body = spool, spool
	if !ended {
		err = t.body(spool)
	}
	if framing := t.head.Framing(); err == nil && framing.Kind == httpmsg.Length && framing.N != spool.Size() {
		err = errContested
	}
	return x.bodyEnded(ctx, err)
}

// request gathers the frames that open the connection and ask. Nothing of it can fail: a buffer
// takes all, and encode has seen to the fields.
func (t *h2Talk) request() {
	t.out.WriteString(http2.ClientPreface)
	_ = t.frames.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: h2Window},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: t.frames.MaxHeaderListSize})
	_ = t.frames.WriteWindowUpdate(0, h2Window-65535)
	var block bytes.Buffer
	fields := hpack.NewEncoder(&block)
	add := func(name, value string) {
		_ = fields.WriteField(hpack.HeaderField{Name: name, Value: value})
	}
	lines := strings.Split(strings.TrimSuffix(string(t.x.raw), "\r\n\r\n"), "\r\n")
	add(":method", http.MethodGet)
	add(":scheme", t.x.req.Scheme)
	add(":authority", t.x.req.Host)
	add(":path", strings.Fields(lines[0])[1])
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		if name = strings.ToLower(name); name != "host" && !slices.Contains(connection, name) {
			add(name, value)
		}
	}
	first := block.Next(h2Frame)
	_ = t.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: first, EndStream: true,
		EndHeaders: block.Len() == 0})
	for block.Len() > 0 {
		more := block.Next(h2Frame)
		_ = t.frames.WriteContinuation(1, block.Len() == 0, more)
	}
}

// untilHead reads up to the head of the final response; ended says that it has no body.
func (t *h2Talk) untilHead() (ended bool, err error) {
	for interim := 0; ; {
		f, err := t.next()
		if err != nil {
			return false, err
		}
		head, ok := f.(*http2.MetaHeadersFrame)
		if !ok {
			return false, fmt.Errorf("%w: a body before its head", errH2)
		}
		if head.Truncated {
			return false, httpmsg.ErrTooLarge
		}
		status, err := strconv.Atoi(head.PseudoValue("status"))
		if err != nil || status < 100 || status > 999 {
			return false, fmt.Errorf("%w: status %.20q", errH2, head.PseudoValue("status"))
		}
		if status < 200 && status != 101 && !head.StreamEnded() {
			if interim++; interim > maxInterim {
				return false, errInterim
			}
			continue
		}
		t.head = headOf(status, head.RegularFields())
		return head.StreamEnded(), nil
	}
}

// headOf writes a head in the form of HTTP/1.1, for the archive.
func headOf(status int, fields []hpack.HeaderField) *httpmsg.Head {
	h := &httpmsg.Head{Proto: Proto2, Status: status, Reason: http.StatusText(status)}
	raw := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", status, h.Reason)
	for _, f := range fields {
		if slices.Contains(connection, f.Name) {
			continue
		}
		name, value := strings.Clone(f.Name), strings.Clone(f.Value)
		h.Header = append(h.Header, [2]string{name, value})
		raw = appendField(raw, name, value)
	}
	h.Raw = append(raw, "\r\n"...)
	return h
}

// body reads the data frames, up to the cap.
func (t *h2Talk) body(spool *Spool) error {
	for most := t.x.maxBody(); ; {
		f, err := t.next()
		if err != nil {
			return err
		}
		data, ok := f.(*http2.DataFrame)
		if !ok { // trailers
			return nil
		}
		chunk := data.Data()
		room := most - spool.Size()
		if _, err := spool.Write(chunk[:min(int64(len(chunk)), room)]); err != nil {
			return err
		}
		if int64(len(chunk)) > room {
			return errTooLong
		}
		if data.StreamEnded() {
			return nil
		}
	}
}

// next is the next frame of the stream that brings something: a head, data, or trailers, which end
// it. Frames about the connection are answered.
func (t *h2Talk) next() (http2.Frame, error) {
	for {
		f, err := t.frames.ReadFrame()
		if err != nil {
			return nil, h2Trouble(err)
		}
		if t.idle++; t.idle > h2Frames {
			return nil, fmt.Errorf("%w: frames without end", errH2)
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamID == 1 {
				return f, nil
			}
		case *http2.DataFrame:
			if f.StreamID == 1 && (len(f.Data()) > 0 || f.StreamEnded()) {
				t.idle = 0
				return f, nil
			}
		case *http2.RSTStreamFrame:
			return nil, fmt.Errorf("stream reset: %v: %w", f.ErrCode, io.ErrUnexpectedEOF)
		case *http2.GoAwayFrame:
			if f.LastStreamID < 1 {
				return nil, fmt.Errorf("connection refused: %v: %w", f.ErrCode, io.ErrUnexpectedEOF)
			}
		case *http2.PushPromiseFrame:
			return nil, fmt.Errorf("%w: a push that was refused", errH2)
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = t.frames.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = t.frames.WritePing(true, f.Data)
			}
		}
		if err := t.flush(); err != nil {
			return nil, err
		}
	}
}

// flush sends the frames gathered.
func (t *h2Talk) flush() error {
	if t.out.Len() == 0 {
		return nil
	}
	_, err := t.x.conn.stream.Write(t.out.Bytes())
	t.out.Reset()
	return err
}

// h2Trouble tells broken frames from the connection's trouble.
func h2Trouble(err error) error {
	var connection http2.ConnectionError
	var stream http2.StreamError
	if errors.As(err, &connection) || errors.As(err, &stream) || errors.Is(err, http2.ErrFrameTooLarge) {
		return fmt.Errorf("%w: %w", errH2, err)
	}
	return err
}
