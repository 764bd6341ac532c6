package http1

import (
	"crypto/tls"
	"net"
	"strings"
)

// sessionCache is how many servers' TLS sessions are remembered: a few KiB each.
const sessionCache = 1024

// tlsBase fills the configuration that all connections share.
//
// Key exchange: Go takes the curves in its own order, so P-256, the cheapest, cannot be put first
// without refusing servers that know only X25519. Leaving out the post-quantum hybrids, which
// protect nothing in a crawl of public pages, saves their cost and a second packet of ClientHello.
//
// Cipher suites: browsers still accept RSA key exchange with AES from TLS 1.2 servers; Go by
// default does not.
func tlsBase(given *tls.Config) *tls.Config {
	base := &tls.Config{}
	if given != nil {
		base = given.Clone()
	}
	base.MinVersion = max(base.MinVersion, tls.VersionTLS12)
	base.InsecureSkipVerify = false
	if base.RootCAs == nil {
		base.RootCAs = roots()
	}
	if base.CurvePreferences == nil {
		base.CurvePreferences = []tls.CurveID{tls.CurveP256, tls.X25519, tls.CurveP384, tls.CurveP521}
	}
	if base.CipherSuites == nil {
		for _, suite := range tls.CipherSuites() {
			base.CipherSuites = append(base.CipherSuites, suite.ID)
		}
		base.CipherSuites = append(base.CipherSuites,
			tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA)
	}
	if base.ClientSessionCache == nil {
		base.ClientSessionCache = tls.NewLRUClientSessionCache(sessionCache)
	}
	return base
}

// serverName is the name that a certificate must carry.
func serverName(req *Request) string {
	name := req.ServerName
	if name == "" {
		name = req.Host
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
	}
	return strings.TrimSuffix(strings.Trim(name, "[]"), ".")
}
