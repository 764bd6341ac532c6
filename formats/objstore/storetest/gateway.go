package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// GatewayVariable names the environment variable with the path of the versitygw program, an S3
// server over a directory. Without it the program is looked for on PATH.
const GatewayVariable = "SEINE_VERSITYGW"

// Gateway is a running S3 server with one empty bucket, for one test.
type Gateway struct {
	endpoint string
	bucket   string
}

// StartGateway starts a server that ends with the test. Where the program is not installed, it
// skips the test and says how to install it.
func StartGateway(t *testing.T) Gateway {
	t.Helper()
	program := os.Getenv(GatewayVariable)
	if program == "" {
		var err error
		if program, err = exec.LookPath("versitygw"); err != nil {
			t.Skipf("NOT RUN: %s needs versitygw on PATH or in %s: "+
				"go install github.com/versity/versitygw/cmd/versitygw@v1.8.0", t.Name(), GatewayVariable)
		}
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	server := exec.Command(program, "--port", address, "--quiet", "--keep-alive", "posix", root)
	server.Env = append(os.Environ(), "ROOT_ACCESS_KEY=admin", "ROOT_SECRET_KEY=secretsecret")
	server.Stdout, server.Stderr = t.Output(), t.Output()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		_ = server.Process.Kill() // an error says that it has ended
		<-ended
	})
	if err := awaitListener(t.Context(), address, ended); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return Gateway{"http://" + address, "bucket"}
}

// freeAddress is an address that nobody listens at, and that the kernel gives to no connection that
// somebody opens: it keeps the ports above 32767 for those.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000)))
		if err != nil {
			continue
		}
		defer l.Close()
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

// startTimeout is how long the server may take to listen; it takes 0.2 s on an idle machine.
const startTimeout = 30 * time.Second

// awaitListener asks until somebody answers, or the server has ended.
func awaitListener(ctx context.Context, address string, ended chan error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-again.C:
		case err := <-ended:
			ended <- err
			return fmt.Errorf("it ended: %w", errors.Join(err))
		case <-ctx.Done():
			return fmt.Errorf("nobody listens at %s: %w", address, err)
		}
	}
}

// Address is the address of the store below a prefix of the bucket, for s3.Open.
func (g Gateway) Address(prefix string) string {
	return "s3://" + g.bucket + "/" + prefix + "?endpoint=" + url.QueryEscape(g.endpoint)
}

// Env is the environment with the server's credentials.
func (g Gateway) Env(name string) string {
	switch name {
	case "AWS_ACCESS_KEY_ID":
		return "admin"
	case "AWS_SECRET_ACCESS_KEY":
		return "secretsecret"
	}
	return ""
}
