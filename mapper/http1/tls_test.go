package http1

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority signs certificates for tests.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) issue(t *testing.T, name string, until time.Time) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// secured dials servers that answer a TLS connection as serve does. They are on loopback sockets: a
// pipe has no buffer, and in TLS both sides may write at once.
func secured(t *testing.T, config *tls.Config, serve func(net.Conn)) (dial Dialer, wait func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				if secure := tls.Server(conn, config); secure.Handshake() == nil {
					serve(secure)
				}
			})
		}
	})
	dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}
	return dial, func() { _ = l.Close(); wg.Wait() }
}

func getSecure(name string) *Request {
	return &Request{Scheme: "https", Host: name, Addr: "192.0.2.1:443", Target: "/"}
}

func TestTLS(t *testing.T) {
	ca := newAuthority(t)
	good := ca.issue(t, "h.test", time.Now().Add(time.Hour))
	for _, tc := range []struct {
		name   string
		server *tls.Config
		client *tls.Config
		host   string
		code   Code // "": it works
	}{
		{name: "trusted", host: "h.test:8443"},
		{name: "trailing dot", host: "h.test."},
		{name: "verification cannot be switched off", host: "h.test",
			client: &tls.Config{InsecureSkipVerify: true}, code: CodeCertificate},
		{name: "unknown authority", host: "h.test", client: &tls.Config{RootCAs: x509.NewCertPool()},
			code: CodeCertificate},
		{name: "another name", host: "other.test", code: CodeCertificate},
		{name: "expired", host: "h.test", code: CodeCertificate, server: &tls.Config{
			Certificates: []tls.Certificate{ca.issue(t, "h.test", time.Now().Add(-time.Minute))}}},
		{name: "TLS 1.1", host: "h.test", code: CodeHandshake, server: &tls.Config{
			Certificates: []tls.Certificate{good}, MinVersion: tls.VersionTLS10,
			MaxVersion: tls.VersionTLS11}},
		{name: "TLS 1.2", host: "h.test", server: &tls.Config{
			Certificates: []tls.Certificate{good}, MaxVersion: tls.VersionTLS12}},
		{name: "X25519 alone", host: "h.test", server: &tls.Config{
			Certificates: []tls.Certificate{good}, CurvePreferences: []tls.CurveID{tls.X25519}}},
		{name: "P-256 alone", host: "h.test", server: &tls.Config{
			Certificates: []tls.Certificate{good}, CurvePreferences: []tls.CurveID{tls.CurveP256}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.server == nil {
				tc.server = &tls.Config{Certificates: []tls.Certificate{good}}
			}
			if tc.client == nil {
				tc.client = &tls.Config{RootCAs: ca.pool()}
			}
			r := always(hello, true)
			dial, wait := secured(t, tc.server, r.serve)
			c := New(Settings{TLS: tc.client}, dial)
			defer func() { c.CloseIdle(); wait() }()
			if tc.code != "" {
				_, err := c.Do(t.Context(), getSecure(tc.host))
				wantError(t, err, PhaseTLS, tc.code)
				return
			}
			resp := do(t, c, getSecure(tc.host))
			if got := body(t, resp.Body); got != "hello" || resp.TLSVersion < tls.VersionTLS12 {
				t.Errorf("body %q, version %x", got, resp.TLSVersion)
			}
			spoken, suite := resp.Spoken()
			want := []string{"http/1.1", fmt.Sprintf("tls/1.%d", resp.TLSVersion-tls.VersionTLS10)}
			if !slices.Equal(spoken, want) || !strings.HasPrefix(suite, "TLS_") {
				t.Errorf("spoken %q by %q, want %q", spoken, suite, want)
			}
			if again := do(t, c, getSecure(tc.host)); !again.Reused || again.TLSVersion == 0 {
				t.Errorf("reused %v, version %x", again.Reused, again.TLSVersion)
			}
		})
	}
}

func TestTLSResumes(t *testing.T) {
	ca := newAuthority(t)
	var resumed []bool
	config := &tls.Config{
		Certificates: []tls.Certificate{ca.issue(t, "h.test", time.Now().Add(time.Hour))},
		VerifyConnection: func(s tls.ConnectionState) error {
			resumed = append(resumed, s.DidResume)
			return nil
		},
	}
	r := always("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", false)
	dial, wait := secured(t, config, r.serve)
	c := New(Settings{TLS: &tls.Config{RootCAs: ca.pool()}}, dial)
	do(t, c, getSecure("h.test"))
	do(t, c, getSecure("h.test"))
	wait()
	if len(resumed) != 2 || resumed[0] || !resumed[1] {
		t.Errorf("sessions resumed: %v", resumed)
	}
}

// TestTLSEndWithoutAlert: a body that ends with the connection is whole also when TLS was not
// closed as it should be.
func TestTLSEndWithoutAlert(t *testing.T) {
	ca := newAuthority(t)
	config := &tls.Config{
		Certificates: []tls.Certificate{ca.issue(t, "h.test", time.Now().Add(time.Hour))},
	}
	dial, wait := secured(t, config, func(conn net.Conn) {
		if _, err := conn.Read(make([]byte, 4096)); err == nil {
			_, _ = io.WriteString(conn, ok+"\r\nhi")
		}
	})
	c := New(Settings{TLS: &tls.Config{RootCAs: ca.pool()}}, dial)
	resp := do(t, c, getSecure("h.test"))
	if got := body(t, resp.Body); got != "hi" || resp.Truncated != "" {
		t.Errorf("body %q, truncated %q", got, resp.Truncated)
	}
	wait()
}

// TestTLSGate: the gate is below TLS, so that not even a handshake goes on without it.
func TestTLSGate(t *testing.T) {
	ca := newAuthority(t)
	config := &tls.Config{
		Certificates: []tls.Certificate{ca.issue(t, "h.test", time.Now().Add(time.Hour))},
	}
	for _, open := range []int{1, 2, 3} { // the dial, ClientHello, Finished
		r := always(hello, true)
		dial, wait := secured(t, config, r.serve)
		c := New(Settings{TLS: &tls.Config{RootCAs: ca.pool()}}, dial)
		asked := 0
		req := getSecure("h.test")
		req.Gate = func() error {
			if asked++; asked > open {
				return errLease
			}
			return nil
		}
		_, err := c.Do(t.Context(), req)
		phase := PhaseTLS
		if open == 3 {
			phase = PhaseWrite
		}
		if e := wantError(t, err, phase, CodeGate); e.Sent {
			t.Error("said to be sent")
		}
		wait()
		if got := r.requests(); len(got) != 0 {
			t.Errorf("server saw %q", got)
		}
	}
}
