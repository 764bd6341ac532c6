// Package peertest makes certificates for tests of groups and services: an
// authority of their own that lives as long as the test.
package peertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for loopback.
type Authority struct {
	CA string // PEM file of its own certificate

	t           *testing.T
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

// New makes an authority.
func New(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{t: t, folder: t.TempDir()}
	a.certificate = &x509.Certificate{Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.key = a.newKey()
	a.CA = a.write("ca", "CERTIFICATE", a.sign(a.certificate, &a.key.PublicKey))
	return a
}

// Issue makes a certificate for a server and client on 127.0.0.1, of an
// organizational unit that may be empty, and returns the files.
func (a *Authority) Issue(name, unit string) (certificate, key string) {
	a.t.Helper()
	c := &x509.Certificate{Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if unit != "" {
		c.Subject.OrganizationalUnit = []string{unit}
	}
	k := a.newKey()
	certificate = a.write(name, "CERTIFICATE", a.sign(c, &k.PublicKey))
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, a.write(name+"-key", "EC PRIVATE KEY", der)
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	a.t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return k
}

func (a *Authority) sign(c *x509.Certificate, key *ecdsa.PublicKey) []byte {
	a.t.Helper()
	a.serial++
	c.SerialNumber = big.NewInt(a.serial)
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, c, a.certificate, key, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func (a *Authority) write(name, kind string, der []byte) (path string) {
	a.t.Helper()
	path = filepath.Join(a.folder, name+".pem")
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}
