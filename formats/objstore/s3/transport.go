package s3

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
)

// stallTimeout is how long a connection in use may stand still, in either direction: longer than
// a server takes to sync a large body, shorter than a lease's patience with a dead one.
const stallTimeout = 2 * time.Minute

// newTransport is the client library's, with as many idle connections as requests may run, and
// connections that notice when they stall.
func newTransport(secure bool) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return stallConn{conn}, nil
	}
	t.MaxIdleConnsPerHost = maxRequests
	t.ResponseHeaderTimeout = stallTimeout
	return t, nil
}

// stallConn fails when nothing moves for stallTimeout.
type stallConn struct{ net.Conn }

// Read allows the next bytes stallTimeout to come.
func (c stallConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(stallTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// writePiece is how much is written under one deadline: 64 KiB in two minutes is no progress
// worth waiting for, while a large body under one deadline could be a slow but live upload.
const writePiece = 64 << 10

// Write allows each piece stallTimeout to go, and the reader, who waits for the answer to all of
// it, as long.
func (c stallConn) Write(p []byte) (int, error) {
	written := 0
	for {
		piece := p[written:min(written+writePiece, len(p))]
		if err := c.SetDeadline(time.Now().Add(stallTimeout)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(piece)
		written += n
		if err != nil {
			return written, err
		}
		if n < len(piece) {
			return written, errors.New("short write")
		}
		if written == len(p) {
			return written, nil
		}
	}
}
