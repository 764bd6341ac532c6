package node

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"seine/coordinator/client"
	"seine/coordinator/peer"
)

// Dialling says how coordinators are reached: by what they are known, and by
// what the caller proves who it is.
type Dialling struct {
	CA        string // PEM file; empty: the system's authorities
	Cert, Key string // PEM files of a client certificate; empty: none
	TokenFile string // its first line is the token
	Token     string // counts when there is no file; never from a command line
	Patience  time.Duration
}

// Client makes a client for a list of addresses.
func (d Dialling) Client(addresses string) (*client.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if d.CA != "" {
		pool, err := peer.LoadAuthority(d.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	if d.Cert != "" || d.Key != "" {
		pair, err := peer.ReloadPair(d.Cert, d.Key)
		if err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return pair.Get(), nil
		}
	}
	token := d.Token
	if d.TokenFile != "" {
		text, err := os.ReadFile(d.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
		first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		if token = strings.TrimSpace(first); token == "" {
			return nil, fmt.Errorf("token: %s: %w", d.TokenFile, errors.New("its first line is empty"))
		}
	}
	if token != "" && strings.Contains(addresses, "http://") && !loopbackOnly(addresses) {
		return nil, errors.New("a token would be sent in the clear: name the coordinators by https://")
	}
	h := &http.Client{Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}}
	return client.New(addresses, client.Options{HTTP: h, Token: token, Patience: d.Patience})
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
