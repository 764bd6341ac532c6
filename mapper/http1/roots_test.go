package http1

import (
	"crypto/x509"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TestRoots: the system's authorities and those of the build hold beside each other, and each alone.
func TestRoots(t *testing.T) {
	own := newAuthority(t)
	holds := func(pool *x509.CertPool, cert *x509.Certificate) bool {
		_, err := cert.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: cert.NotBefore.Add(1)})
		return err == nil
	}
	both, alone := rootsBeside(own.pool()), rootsBeside(nil)
	if !holds(both, own.cert) || holds(alone, own.cert) {
		t.Error("the system's authority is lost, or known without the system")
	}
	n := 0
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil || root.Constraint != nil {
			continue
		}
		if n++; !holds(both, cert) || !holds(alone, cert) {
			t.Errorf("%s does not hold", cert.Subject)
		}
	}
	if n < 50 {
		t.Errorf("the build has %d roots", n)
	}
	if New(Settings{}, nil).tls.RootCAs != roots() {
		t.Error("a client does not use them")
	}
}
