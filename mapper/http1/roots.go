package http1

import (
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// roots are the authorities that certificates may come from: the system's, and those of Mozilla's
// programme that the build has inside. So an image without any, and a machine that nobody has
// brought up to date, reach the same servers as others.
var roots = sync.OnceValue(func() *x509.CertPool {
	system, err := x509.SystemCertPool()
	if err != nil {
		system = nil // there are none
	}
	return rootsBeside(system)
})

// rootsBeside adds the roots of the build to a pool; nil: an empty one.
func rootsBeside(pool *x509.CertPool) *x509.CertPool {
	if pool == nil {
		pool = x509.NewCertPool()
	}
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		switch {
		case err != nil: // one that this build of Go refuses vouches for nobody
		case root.Constraint == nil:
			pool.AddCert(cert)
		default:
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	return pool
}
