package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"seine/mapper/webtest"
)

func query(t *testing.T, name string, kind dnsmessage.Type) dnsmessage.Message {
	t.Helper()
	q := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind,
			Class: dnsmessage.ClassINET}}}
	packed, err := q.Pack()
	if err != nil {
		t.Fatal(err)
	}
	reply, err := replyTo(packed, func(name string) (netip.Addr, bool) {
		return netip.MustParseAddr("127.1.0.3"), name == "a.test"
	})
	if err != nil {
		t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(reply); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNames(t *testing.T) {
	tests := []struct {
		name    string
		ask     string
		kind    dnsmessage.Type
		code    dnsmessage.RCode
		answers int
	}{
		{"an address", "A.test.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, 1},
		{"no IPv6 address", "a.test.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, 0},
		{"no such name", "b.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := query(t, test.ask, test.kind)
			if m.RCode != test.code || len(m.Answers) != test.answers || m.ID != 7 || !m.Response {
				t.Errorf("got %v with %d answers, id %d", m.RCode, len(m.Answers), m.ID)
			}
		})
	}
	if _, err := replyTo([]byte("no query"), nil); err == nil {
		t.Error("junk was answered")
	}
}

func TestAuthoritySignsForEachName(t *testing.T) {
	a, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.pem) {
		t.Fatal("the certificate is no PEM")
	}
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- tls.Server(far, &tls.Config{GetCertificate: a.certificate}).Handshake()
	}()
	client := tls.Client(near, &tls.Config{RootCAs: roots, ServerName: "d0001.test"})
	if err := client.Handshake(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	web := webtest.New(webtest.Spec{Domains: 1, Plain: true})
	j, err := openJournal(path, web.Log)
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	go web.ServeConn(far)
	host := web.Hosts()[0].Name
	if _, err := near.Write([]byte("GET /robots.txt HTTP/1.1\r\nHost: " + host +
		"\r\nUser-Agent: x \"y\"\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	near.Close()
	deadline := time.Now().Add(5 * time.Second)
	for web.Log.Requests()[0].End.IsZero() && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	for range 2 { // what was written is not written again
		if err := j.write(); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(got))
	if strings.Count(string(got), "\n") != 1 || fields[2] != host || fields[3] != "200" ||
		!strings.Contains(string(got), `"GET /robots.txt HTTP/1.1" "x \"y\""`) {
		t.Errorf("log: %q", got)
	}
}

func TestBadCommandLine(t *testing.T) {
	for _, args := range [][]string{{"-nosuch"}, {"stray"}} {
		if err := run(context.Background(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}
