package server_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/client"
	"seine/coordinator/peer"
	"seine/coordinator/peer/peertest"
	"seine/coordinator/server"
	"seine/coordinator/state"
	"seine/jobs/worker"
)

const tokens = `# who may do what
read   read-token-0123456789
submit submit-token-0123456789
worker worker-token-0123456789
worker another-token-0123456789
`

func guard(t *testing.T) *server.Guard {
	t.Helper()
	g, err := server.ReadTokens(strings.NewReader(tokens))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// may tries one call of each role.
func may(t *testing.T, c *client.Client) string {
	t.Helper()
	var can []string
	ctx := t.Context()
	_, read := c.Status(ctx)
	_, submit := c.Submit(ctx, state.Submission{RequestID: "r"})
	_, work := c.Heartbeat(ctx, worker.Heartbeat{Worker: "w"})
	for name, err := range map[string]error{"read": read, "submit": submit, "work": work} {
		if err != nil && !errors.Is(err, api.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i, err := range []error{read, submit, work} {
		if err == nil {
			can = append(can, []string{"read", "submit", "work"}[i])
		}
	}
	return strings.Join(can, " ")
}

func TestTokens(t *testing.T) {
	s := httptest.NewServer(server.Handler(&fake{}, server.Options{Guard: guard(t)}))
	defer s.Close()
	for _, test := range []struct{ name, token, want string }{
		{"none", "", ""},
		{"a wrong one", "read-token-0123456780", ""},
		{"the beginning of one", "read-token-012345678", ""},
		{"the role's name", "submit", ""},
		{"read", "read-token-0123456789", "read"},
		{"submit", "submit-token-0123456789", "read submit"},
		{"worker", "worker-token-0123456789", "work"},
		{"the role's second", "another-token-0123456789", "work"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := client.New(s.URL, client.Options{Token: func() string { return test.token }})
			if err != nil {
				t.Fatal(err)
			}
			if got := may(t, c); got != test.want {
				t.Errorf("may %q, want %q", got, test.want)
			}
			if _, err := c.Submit(t.Context(), state.Submission{}); err != nil && test.token != "" &&
				strings.Contains(err.Error(), test.token) && test.token != "submit" {
				t.Errorf("the token is in the error: %v", err)
			}
		})
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no role": "0123456789abcdef", "another role": "admin 0123456789abcdef",
		"too short": "read 0123456789abcde", "more": "read 0123456789abcdef x",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := server.ReadTokens(strings.NewReader(text))
			if err == nil || strings.Contains(err.Error(), "0123456789") {
				t.Errorf("ReadTokens = %v; want an error without the token", err)
			}
		})
	}
}

// A client certificate proves the role that its organizational unit names.
func TestClientCertificates(t *testing.T) {
	authority, strange := peertest.New(t), peertest.New(t)
	pool, err := peer.LoadAuthority(authority.CA)
	if err != nil {
		t.Fatal(err)
	}
	pair := func(a *peertest.Authority, unit string) tls.Certificate {
		p, err := tls.LoadX509KeyPair(a.Issue("x", unit))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	none, err := server.ReadTokens(strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(server.Handler(&fake{}, server.Options{Guard: none}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair(authority, "")}, ClientCAs: pool,
		ClientAuth: tls.VerifyClientCertIfGiven}
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	for _, test := range []struct {
		name  string
		certs []tls.Certificate
		want  string
	}{
		{"none", nil, ""},
		{"worker", []tls.Certificate{pair(authority, "worker")}, "work"},
		{"submit", []tls.Certificate{pair(authority, "submit")}, "read submit"},
		{"no unit", []tls.Certificate{pair(authority, "")}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool,
				Certificates: test.certs}}}
			c, err := client.New(s.URL, client.Options{HTTP: h})
			if err != nil {
				t.Fatal(err)
			}
			if got := may(t, c); got != test.want {
				t.Errorf("may %q, want %q", got, test.want)
			}
		})
	}
	h := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool,
		Certificates: []tls.Certificate{pair(strange, "submit")}}}}
	c, err := client.New(s.URL, client.Options{HTTP: h})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); err == nil {
		t.Error("another authority's certificate is taken")
	}
}

// What is safe to repeat goes on at another address; what is not, does not.
func TestAddressesInTurn(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + gone.Addr().String()
	_ = gone.Close()
	var asked int
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		http.Error(w, "the proxy has lost the coordinator", http.StatusBadGateway)
	}))
	defer broken.Close()
	follower := httptest.NewServer(server.Handler(&fake{err: api.ErrNotLeader}, server.Options{}))
	defer follower.Close()
	f := &fake{}
	leader := httptest.NewServer(server.Handler(f, server.Options{}))
	defer leader.Close()
	all := strings.Join([]string{nobody, broken.URL, follower.URL, leader.URL}, ",")

	c, err := client.New(all, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Submit(t.Context(), state.Submission{RequestID: "r"}); err != nil || asked != 1 {
		t.Errorf("Submit = %v after %d questions to the broken one", err, asked)
	}
	if _, err := c.Status(t.Context()); err != nil || asked != 1 {
		t.Errorf("the next call: %v, the broken one was asked %d times", err, asked)
	}
	c, err = client.New(all, client.Options{Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	f.asked = nil
	err = c.Rerun(t.Context(), state.Rerun{Job: 1})
	if !errors.Is(err, api.ErrUnavailable) || f.asked != nil {
		t.Errorf("Rerun = %v, and the leader was asked %v; it may have been obeyed", err, f.asked)
	}
	c, err = client.New(nobody+","+follower.URL, client.Options{Patience: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Rerun(t.Context(), state.Rerun{Job: 1}); !errors.Is(err, api.ErrUnavailable) &&
		!errors.Is(err, api.ErrNotLeader) {
		t.Errorf("Rerun without a leader = %v", err)
	}
}

// TestTokensAreReread: tokens are exchanged while the server runs; a file that cannot be used leaves
// those that there were, and the log says so, without them.
func TestTokensAreReread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	const first, second = "first-token-0123456789", "second-token-012345678"
	write("read " + first + "\n")
	g, err := server.TokensFile(log, path)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server.Handler(&fake{}, server.Options{Guard: g}))
	defer s.Close()
	for _, step := range []struct {
		name, first, second string // what the tokens may after the change
		warns               bool
		change              func()
	}{
		{"as at the start", "read", "", false, func() {}},
		{"both", "read", "read submit", false, func() { write("read " + first + "\nsubmit " + second + "\n") }},
		{"no role", "read", "read submit", true, func() { write("read " + first + "\nsubmi") }},
		{"emptied", "read", "read submit", true, func() { write("") }},
		{"gone", "read", "read submit", true, func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}},
		{"the second alone", "", "work", false, func() { write("worker " + second + "\n") }},
	} {
		said.Reset()
		step.change()
		for token, want := range map[string]string{first: step.first, second: step.second} {
			c, err := client.New(s.URL, client.Options{Token: func() string { return token }})
			if err != nil {
				t.Fatal(err)
			}
			if got := may(t, c); got != want {
				t.Errorf("%s: %s may %q, want %q", step.name, token, got, want)
			}
		}
		if warns := strings.Contains(said.String(), "cannot be used"); warns != step.warns {
			t.Errorf("%s: a warning: %v, want %v:\n%s", step.name, warns, step.warns, said.String())
		}
		if strings.Contains(said.String(), "-token-") {
			t.Errorf("%s: the log holds a token:\n%s", step.name, said.String())
		}
	}
	for name, text := range map[string]string{"empty": "# none\n", "damaged": "read x"} {
		write(text)
		if _, err := server.TokensFile(nil, path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s at the start: %v, want an error that names the file", name, err)
		}
	}
}
