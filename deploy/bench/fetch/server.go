package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// server is the other process.
type server struct {
	cmd         *exec.Cmd
	stdin       io.Closer
	plain, safe string // addresses
	roots       *x509.CertPool
}

// startServer runs this program as the server.
func startServer() (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	s := &server{cmd: exec.Command(self, "-serve"), roots: x509.NewCertPool()}
	s.cmd.Stderr = os.Stderr
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	s.stdin = stdin
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	return s, s.greet(bufio.NewReader(stdout))
}

// greet reads the addresses and the authority's certificate that serve prints.
func (s *server) greet(r *bufio.Reader) error {
	line, err := r.ReadString('\n')
	if err != nil {
		return errors.Join(fmt.Errorf("hear from the server: %w", err), s.stop())
	}
	if _, err := fmt.Sscan(line, &s.plain, &s.safe); err != nil {
		return errors.Join(fmt.Errorf("hear from the server: %q: %w", line, err), s.stop())
	}
	var cert strings.Builder
	for !strings.Contains(cert.String(), "END CERTIFICATE") {
		if line, err = r.ReadString('\n'); err != nil {
			return errors.Join(fmt.Errorf("hear from the server: %w", err), s.stop())
		}
		cert.WriteString(line)
	}
	if !s.roots.AppendCertsFromPEM([]byte(cert.String())) {
		return errors.Join(errors.New("the server's certificate authority cannot be read"), s.stop())
	}
	return nil
}

// stop ends the server: it lives as long as its input is open.
func (s *server) stop() error {
	return errors.Join(s.stdin.Close(), s.cmd.Wait())
}

// serve is the server's side: it prints where it listens and its authority,
// and ends with its input.
func serve(in io.Reader, out io.Writer) error {
	handler, err := newHandler()
	if err != nil {
		return err
	}
	authority, leaf, err := certificates()
	if err != nil {
		return err
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	safe, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{leaf}})
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w", err), plain.Close())
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 2)
	for _, l := range []net.Listener{plain, safe} {
		go func() { ended <- web.Serve(l) }()
	}
	_, err = fmt.Fprintf(out, "%s %s\n%s", plain.Addr(), safe.Addr(), authority)
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	err = errors.Join(err, web.Close())
	for range 2 {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// newHandler answers /p/N of any host with a page.
func newHandler() (http.Handler, error) {
	pages, err := packed()
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		h, _ := strconv.Atoi(strings.TrimPrefix(strings.TrimSuffix(r.Host, ".test"), "h"))
		body := pages[(h*pagesAHost+n)%len(pages)]
		head := w.Header()
		head.Set("Content-Type", "text/html; charset=utf-8")
		head.Set("Content-Encoding", "gzip")
		head.Set("Content-Length", strconv.Itoa(len(body)))
		head.Set("Cache-Control", "max-age=600")
		head.Set("ETag", fmt.Sprintf("%q", fmt.Sprint(h, n)))
		head.Set("Last-Modified", "Tue, 04 Feb 2025 10:00:00 GMT")
		_, _ = w.Write(body) // the client sees what is missing
	}), nil
}

// certificates makes an authority and a certificate for all hosts.
func certificates() (authority []byte, leaf tls.Certificate, err error) {
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, leaf, fmt.Errorf("make a key: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, leaf, fmt.Errorf("make a key: %w", err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		Subject: pkix.Name{CommonName: "bench authority"}, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	host := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{"*.test"},
		NotBefore: root.NotBefore, NotAfter: root.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	if err != nil {
		return nil, leaf, fmt.Errorf("make a certificate: %w", err)
	}
	hostDER, err := x509.CreateCertificate(rand.Reader, host, root, &leafKey.PublicKey, rootKey)
	if err != nil {
		return nil, leaf, fmt.Errorf("make a certificate: %w", err)
	}
	authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER})
	return authority, tls.Certificate{Certificate: [][]byte{hostDER}, PrivateKey: leafKey}, nil
}
