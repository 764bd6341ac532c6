package http1

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"seine/formats/warc/httpmsg"
)

// A Dialer opens a connection to ip:port, within its context's time.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// A Client makes exchanges.
type Client struct {
	set  Settings
	dial Dialer
	tls  *tls.Config
	idle *idlePool
	alpn protocols

	files   *scratch  // nil without a SpillDir
	readers sync.Pool // of *bufio.Reader
	buffers sync.Pool // of *[]byte, copySize long
	inflate sync.Pool // of *gzip.Reader
	brotli  sync.Mutex
}

// readSize holds a usual header; bodies are read past it.
const readSize = 4 << 10

const copySize = 32 << 10

// New returns a client. dial nil means net.Dialer; a dialler is where addresses are refused.
func New(set Settings, dial Dialer) *Client {
	set = set.withDefaults()
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	var files *scratch
	if set.SpillDir != "" {
		files = &scratch{dir: set.SpillDir}
	}
	return &Client{
		files: files,
		set:   set, dial: dial, tls: tlsBase(set.TLS), idle: newIdlePool(set.MaxIdle, set.IdleTimeout),
		readers: sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readSize) }},
		buffers: sync.Pool{New: func() any { b := make([]byte, copySize); return &b }},
	}
}

// CloseIdle closes the kept connections and scratch files. The client stays usable.
func (c *Client) CloseIdle() {
	c.idle.clear()
	if c.files != nil {
		c.files.clear()
	}
}

func (c *Client) newSpool(hint int64) *Spool { return newSpool(c.files, c.set.SpillBytes, hint) }

// An exchange is one request on its way.
type exchange struct {
	client *Client
	req    *Request
	gate   Gate
	start  time.Time
	raw    []byte
	conn   *conn
	br     *bufio.Reader
	keep   bool // the connection may serve another exchange
	resp   *Response
}

// maxBody is the cap on the body of this exchange, bytes.
func (x *exchange) maxBody() int64 { return cmp.Or(x.req.MaxBody, x.client.set.MaxBody) }

// Do sends req once and reads the response. The error is an [*Error], or this machine's own.
//
// CodeStale means that a kept connection died before a byte of an answer came, or brought what is
// no answer; or that a server hung up that may speak HTTP/2 alone, which it is offered next. Most likely the server had closed it and has not seen the request, but that cannot be
// known: whether and when to ask again, in a new politeness slot, is the caller's to say.
func (c *Client) Do(ctx context.Context, req *Request) (*Response, error) {
	raw, err := req.encode(&c.set)
	if err != nil {
		return nil, &Error{Phase: PhaseWrite, Code: CodeRequest, Err: err}
	}
	x := &exchange{client: c, req: req, gate: req.Gate, start: time.Now(), raw: raw}
	if x.gate == nil {
		x.gate = func() error { return nil }
	}
	x.resp = &Response{RawRequest: raw, RawBody: &Spool{}}
	x.resp.Body = x.resp.RawBody
	if err := x.connect(ctx); err != nil {
		return nil, err
	}
	if err = x.run(ctx); err == nil {
		err = x.decode()
	} else if x.mayBeH2(err) {
		err = &Error{Phase: PhaseHeader, Code: CodeStale, Sent: true, Err: err}
	}
	if err != nil {
		_ = x.resp.Close()
		return nil, err
	}
	return x.resp, nil
}

// run makes the exchange on the connection, then keeps or closes that.
func (x *exchange) run(ctx context.Context) error {
	aborted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(aborted)
		_ = x.conn.Close()
	})
	x.br = x.client.readers.Get().(*bufio.Reader)
	x.br.Reset(x.conn.stream)
	err := x.talk(ctx)
	if !stop() {
		<-aborted
		x.keep = false
	}
	now := time.Now()
	x.resp.EndOfAnswer, x.resp.Total = now, now.Sub(x.start)
	x.resp.BytesIn, x.resp.BytesOut = x.conn.in, x.conn.out
	if err == nil && x.keep && x.br.Buffered() == 0 {
		x.client.idle.put(x.conn, now)
	} else {
		_ = x.conn.Close()
	}
	x.br.Reset(nil)
	x.client.readers.Put(x.br)
	return err
}

func (x *exchange) talk(ctx context.Context) error {
	if x.conn.secure.protocol == alpnHTTP2 {
		return x.talkH2(ctx)
	}
	if err := x.write(ctx, x.raw); err != nil {
		return err
	}
	head, err := x.readHead(ctx)
	if err != nil {
		return err
	}
	r := x.resp
	r.Status, r.Proto, r.Header, r.RawHeader = head.Status, head.Proto, head.Header, head.Raw
	return x.receive(ctx, head)
}

// write sends the request.
func (x *exchange) write(ctx context.Context, request []byte) error {
	set := &x.client.set
	before := x.conn.out
	x.conn.until(time.Now().Add(set.FirstByteTimeout), errFirstByte)
	_, err := x.conn.stream.Write(request)
	if err == nil {
		return nil
	}
	e := failed(ctx, PhaseWrite, err, CodeReset)
	e.Sent = x.conn.out > before
	if x.resp.Reused && (e.Code == CodeReset || e.Code == CodeEOF) {
		e.Code = CodeStale
	}
	return e
}

// maxInterim is how many 1xx responses may come before the final one.
const maxInterim = 10

var errInterim = errors.New("interim responses without end")

func (x *exchange) readHead(ctx context.Context) (*httpmsg.Head, error) {
	sent := time.Now()
	x.conn.until(sent.Add(x.client.set.FirstByteTimeout), errFirstByte)
	if _, err := x.br.Peek(1); err != nil {
		fault := x.headError(ctx, err)
		if x.resp.Reused && (fault.Code == CodeEOF || fault.Code == CodeReset) {
			fault.Code = CodeStale
		}
		return nil, fault
	}
	x.resp.TTFB = time.Since(sent)
	x.conn.keepRate(x.client.set.MinRate, x.client.set.RateWindow)
	for range maxInterim {
		head, err := httpmsg.ReadHead(x.br, x.client.set.MaxHeader)
		if err != nil {
			return nil, x.headError(ctx, err)
		}
		if head.Proto == httpmsg.Proto09 && x.resp.Reused {
			// More likely the rest of the last response than one without a header: a fresh
			// connection will tell.
			fault := x.headError(ctx, fmt.Errorf("no status line on a kept connection: %w",
				errMalformed))
			fault.Code = CodeStale
			return nil, fault
		}
		if head.Status == 101 || head.Status < 100 || head.Status > 199 {
			return head, nil
		}
	}
	return nil, x.headError(ctx, errInterim)
}

var errMalformed = errors.New("malformed response")

func (x *exchange) headError(ctx context.Context, err error) *Error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	e := failed(ctx, PhaseHeader, err, CodeMalformed)
	e.Sent = true
	if errors.Is(err, httpmsg.ErrTooLarge) {
		e.Code = CodeHeaderTooLarge
	}
	return e
}
