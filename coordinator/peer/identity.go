package peer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
)

// Identity is by what a coordinator proves that it belongs to the group: a
// certificate with its key, both checked against the group's own authority. The
// files are looked at again for every connection.
type Identity struct {
	certificate *Reloaded[*tls.Certificate]
	authority   *Reloaded[*x509.CertPool]
}

// LoadIdentity reads PEM files: the authority's certificate, and the node's own
// certificate and key. The certificate must name the hosts under which the node
// is reached. log hears when the files change; nil: nobody does.
func LoadIdentity(log *slog.Logger, authority, certificate, key string) (*Identity, error) {
	pair, err := ReloadPair(log, certificate, key)
	if err != nil {
		return nil, err
	}
	pool, err := ReloadAuthority(log, authority)
	if err != nil {
		return nil, err
	}
	return &Identity{pair, pool}, nil
}

// LoadAuthority reads a PEM file of certificates that are trusted.
func LoadAuthority(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("authority %s: %w", path, errors.New("it holds no certificate in PEM"))
	}
	return pool, nil
}

// mutual is the TLS of both sides of a connection within the group.
func (i *Identity) mutual() *tls.Config {
	authority := i.authority.Get()
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{*i.certificate.Get()},
		RootCAs:      authority,
		ClientCAs:    authority,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}
}
