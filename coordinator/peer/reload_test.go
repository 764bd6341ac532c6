package peer_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"strings"
	"testing"

	"seine/coordinator/peer"
	"seine/coordinator/peer/peertest"
)

// TestCertificatesAreReread: a port that runs shows, from the next connection on, the certificate
// that has taken the old one's place; one that is half written changes nothing.
func TestCertificatesAreReread(t *testing.T) {
	authority := peertest.New(t)
	certificate, key := authority.Issue("node", "")
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	id, err := peer.LoadIdentity(log, authority.CA, certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	port, err := peer.Listen("127.0.0.1:0", "", id)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- port.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()
	shown := func() string {
		t.Helper()
		conn, err := port.Dial(ctx, peer.Requests, port.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		came, err := port.Listener(peer.Requests).Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer came.Close()
		mine := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
		if caller := came.(*tls.Conn).ConnectionState().PeerCertificates[0]; !caller.Equal(mine) {
			t.Error("the two sides show different certificates of one file")
		}
		return mine.SerialNumber.String()
	}
	first := shown()
	if again := shown(); again != first {
		t.Errorf("certificate %s, then %s, of the same file", first, again)
	}
	if c, k := authority.Issue("node", ""); c != certificate || k != key {
		t.Fatalf("written to %s, %s", c, k)
	}
	second := shown()
	if second == first {
		t.Error("the new certificate is not shown")
	}
	if err := os.WriteFile(certificate, []byte("-----BEGIN"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if third := shown(); third != second {
			t.Errorf("half a file: certificate %s, want %s", third, second)
		}
	}
	if n := strings.Count(said.String(), "cannot be used"); n != 1 {
		t.Errorf("%d lines in the log of one file that is half written, want 1:\n%s", n, said.String())
	}
}
