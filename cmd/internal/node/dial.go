package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"seine/coordinator/client"
	"seine/coordinator/peer"
)

// Dialling says how coordinators are reached: by what they are known, and by
// what the caller proves who it is. Files are read again when they have changed.
type Dialling struct {
	CA        string // PEM file; empty: the system's authorities
	Cert, Key string // PEM files of a client certificate; empty: none
	TokenFile string // its first line is the token
	Token     string // counts when there is no file; never from a command line
	Patience  time.Duration
	Log       *slog.Logger // hears when files change; nil: nobody does
}

// Client makes a client for a list of addresses.
func (d Dialling) Client(addresses string) (*client.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if d.Cert != "" || d.Key != "" {
		pair, err := peer.ReloadPair(d.Log, d.Cert, d.Key)
		if err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return pair.Get(), nil
		}
	}
	authority := func() *x509.CertPool { return nil }
	if d.CA != "" {
		pool, err := peer.ReloadAuthority(d.Log, d.CA)
		if err != nil {
			return nil, err
		}
		authority = pool.Get
	}
	token := func() string { return d.Token }
	if d.TokenFile != "" {
		file, err := peer.Reload(d.Log, d.readToken, d.TokenFile)
		if err != nil {
			return nil, err
		}
		token = file.Get
	}
	if token() != "" && strings.Contains(addresses, "http://") && !loopbackOnly(addresses) {
		return nil, errors.New("a token would be sent in the clear: name the coordinators by https://")
	}
	h := &http.Client{Transport: &trusting{authority: authority, config: config}}
	return client.New(addresses, client.Options{HTTP: h, Token: token, Patience: d.Patience})
}

// readToken reads the file of a token.
func (d Dialling) readToken() (string, error) {
	text, err := os.ReadFile(d.TokenFile)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if first = strings.TrimSpace(first); first == "" {
		return "", fmt.Errorf("token: %s: %w", d.TokenFile, errors.New("its first line is empty"))
	}
	return first, nil
}

// trusting makes requests over connections to servers that an authority vouches for, which may be
// another one from one request to the next.
type trusting struct {
	authority func() *x509.CertPool // nil pool: the system's
	config    *tls.Config

	mu      sync.Mutex
	pool    *x509.CertPool // the one that current trusts
	current *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *trusting) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.transport().RoundTrip(r)
}

// transport is the one that trusts the authority of now.
func (t *trusting) transport() *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	pool := t.authority()
	if t.current != nil && pool == t.pool {
		return t.current
	}
	if t.current != nil {
		t.current.CloseIdleConnections()
	}
	config := t.config.Clone()
	config.RootCAs = pool
	t.pool = pool
	t.current = &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	return t.current
}

// loopbackOnly says whether none of the plain addresses leaves the machine.
func loopbackOnly(addresses string) bool {
	for address := range strings.SplitSeq(addresses, ",") {
		host, plain := strings.CutPrefix(strings.TrimSpace(address), "http://")
		if plain && !Loopback(host) {
			return false
		}
	}
	return true
}
