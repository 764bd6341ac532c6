package main

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"seine/cmd/internal/node"
	"seine/coordinator/api"
	"seine/coordinator/client"
	"seine/coordinator/peer/peertest"
	"seine/coordinator/server"
)

// TestSecretsAreExchanged exchanges every file by which a coordinator and its callers know each
// other, while both run: the authorities, the certificates and the tokens. Then it damages each.
func TestSecretsAreExchanged(t *testing.T) {
	folder := t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	put := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(file(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	take := func(name, from string) {
		t.Helper()
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		put(name, text)
	}
	server, caller := peertest.New(t), peertest.New(t)
	served := func(by *peertest.Authority) {
		certificate, key := by.Issue("server", "")
		take("server.pem", certificate)
		take("server-key.pem", key)
	}
	called := func(by *peertest.Authority) {
		certificate, key := by.Issue("caller", "read")
		take("caller.pem", certificate)
		take("caller-key.pem", key)
	}
	served(server)
	called(caller)
	take("server-ca.pem", server.CA)
	take("caller-ca.pem", caller.CA)
	put("tokens", []byte("read first-token-0123456789\n"))
	put("token", []byte("first-token-0123456789\n"))

	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	on := serveAPI(t, coordinatorFlags{tlsCert: file("server.pem"), tlsKey: file("server-key.pem"),
		clientCA: file("caller-ca.pem"), tokens: file("tokens")})
	dial := func(d node.Dialling) *client.Client {
		t.Helper()
		d.CA, d.Log = file("server-ca.pem"), log
		c, err := d.Client("https://" + on.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	withToken := dial(node.Dialling{TokenFile: file("token")})
	withCertificate := dial(node.Dialling{Cert: file("caller.pem"), Key: file("caller-key.pem")})
	works := func(when string, want bool) {
		t.Helper()
		on.breakOff() // a connection that is kept is one of before
		for name, c := range map[string]*client.Client{"token": withToken, "certificate": withCertificate} {
			if _, err := c.Crawl(t.Context()); (err == nil) != want {
				t.Errorf("%s: with a %s: %v, want it to work: %v", when, name, err, want)
			}
		}
	}
	works("at the start", true)

	otherServer, otherCaller := peertest.New(t), peertest.New(t)
	served(otherServer)
	called(otherCaller)
	take("server-ca.pem", otherServer.CA)
	put("token", []byte("second-token-012345678\n"))
	works("nobody has told the coordinator", false)
	take("caller-ca.pem", otherCaller.CA)
	put("tokens", []byte("read second-token-012345678\n"))
	works("all is exchanged", true)

	for _, name := range []string{"server.pem", "server-key.pem", "caller.pem", "caller-key.pem",
		"server-ca.pem", "caller-ca.pem", "tokens"} {
		put(name, []byte("-----BEGIN"))
	}
	put("token", nil)
	works("all is damaged", true)
	_, warned, _ := strings.Cut(said.String(), "level=WARN")
	for _, name := range []string{"server-ca.pem", "caller.pem", "token"} {
		if !strings.Contains(warned, file(name)) {
			t.Errorf("the log of the callers does not name %s:\n%s", name, said.String())
		}
	}
	if strings.Contains(said.String(), "second-token") {
		t.Errorf("the log holds a token:\n%s", said.String())
	}
}

// kept is a listener that can break off the connections that it has accepted.
type kept struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

// Accept implements net.Listener.
func (k *kept) Accept() (net.Conn, error) {
	conn, err := k.Listener.Accept()
	if err == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.conns = append(k.conns, conn)
	}
	return conn, err
}

func (k *kept) breakOff() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, conn := range k.conns {
		_ = conn.Close() // it may have ended
	}
	k.conns = nil
}

// serveAPI serves what every caller may ask for, as a coordinator of these flags does.
func serveAPI(t *testing.T, f coordinatorFlags) *kept {
	t.Helper()
	o, err := (&app{}).serverOptions(f,
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	on := &kept{Listener: listener}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, on, struct{ api.Conn }{}, o) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return on
}
