package http1

import (
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"seine/formats/warc/httpmsg"
)

// Header holds a response's fields in the order they came.
type Header = httpmsg.Header

// A Gate is asked before bytes leave. Its error keeps them.
type Gate func() error

// A Request is a GET of one resource.
type Request struct {
	Scheme string // http or https
	Host   string // authority for the Host field: host, or host:port where not the scheme's default
	Addr   string // ip:port to dial
	// ServerName is what the certificate must be for; empty: Host without its port.
	ServerName string
	Target     string // path and query; other bytes than a request line may hold are %-encoded
	// Header is sent after the fixed fields. Fields that this package sets itself, that carry
	// credentials or cookies, that frame a body, or that do not fit one line are left out.
	Header Header
	// Pool is the key under which one connection is kept, such as the politeness group; empty: one
	// for each scheme, host and address.
	Pool string
	Gate Gate // nil: always open
	// MaxBody, bytes, and Agent replace those of the settings, where they are set.
	MaxBody int64
	Agent   string
	// Pace is told of every read how many bytes it brought, and says for how long nothing more
	// shall be read; nil: as fast as it comes. That time counts against no limit.
	Pace func(n int) time.Duration
}

// Why a body is not whole, in the words of WARC-Truncated.
const (
	TruncatedLength      = "length"      // longer than the settings allow
	TruncatedTime        = "time"        // too slow or too long
	TruncatedDisconnect  = "disconnect"  // the connection ended before the body
	TruncatedUnspecified = "unspecified" // framing broke, or lengths contradict each other
)

// A Response is what came back. Close must be called when it is no longer read.
type Response struct {
	Status int
	Proto  string // HTTP/1.1, HTTP/1.0, ICY, HTTP/0.9, or what the server called it
	Header Header

	RawRequest []byte // as sent
	RawHeader  []byte // of the final response, as it came, with its empty line; empty for HTTP/0.9
	RawBody    *Spool // as it came, with the framing of its transfer coding

	// Body is RawBody without transfer and content codings, up to MaxBody bytes. It may share
	// RawBody's memory.
	Body *Spool

	// RawTruncated says why RawBody is not all that the server meant to send; Truncated says it of
	// Body: longer than MaxBody once decoded, or cut where RawBody is and the coding shows no end.
	RawTruncated string
	Truncated    string
	// Fault is the trouble behind RawTruncated; nil when the body is whole or only too long.
	Fault *Error
	// DecodeError is where a content coding broke; Body is what came out before. Nil otherwise.
	DecodeError error

	Connect, TLS time.Duration // zero when Reused
	TTFB         time.Duration // from the request's last byte to the response's first
	Total        time.Duration // from the call to the last byte, without decoding
	EndOfAnswer  time.Time     // when the last byte came, or waiting for it was given up

	BytesIn, BytesOut int64 // on the wire, TLS included
	Reused            bool
	RemoteAddr        string
	LocalAddr         string // ip:port that the connection came from
	TLSVersion        uint16 // crypto/tls's numbers; zero without TLS
	CipherSuite       uint16
}

// Spoken names the protocols of the exchange as WARC-Protocol does, that of HTTP first, and TLS's
// cipher suite by its name with IANA. What has no such name is left out.
func (r *Response) Spoken() (protocols []string, suite string) {
	switch r.Proto {
	case Proto2:
		protocols = append(protocols, "h2")
	case httpmsg.Proto09, "HTTP/1.0", "HTTP/1.1":
		protocols = append(protocols, strings.ToLower(r.Proto))
	}
	switch v := r.TLSVersion; v {
	case 0:
		return protocols, ""
	case tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13:
		protocols = append(protocols, fmt.Sprintf("tls/1.%d", v-tls.VersionTLS10))
	}
	if suite = tls.CipherSuiteName(r.CipherSuite); strings.HasPrefix(suite, "0x") {
		suite = ""
	}
	return protocols, suite
}

// Close gives back the scratch of both bodies.
func (r *Response) Close() error {
	err := r.RawBody.Close()
	if r.Body != r.RawBody {
		if berr := r.Body.Close(); err == nil {
			err = berr
		}
	}
	return err
}
