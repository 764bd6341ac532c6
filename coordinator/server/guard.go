package server

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"seine/coordinator/api"
	"seine/coordinator/peer"
)

// Role is what a caller may do.
type Role string

// The roles. Whoever may submit may read as well; workers do neither.
const (
	Read   Role = "read"   // look at the crawl and the group
	Submit Role = "submit" // command the crawl and the group
	Worker Role = "worker" // take tasks and end them
)

// may says whether a caller with this role may do what needs another.
func (r Role) may(need Role) bool { return r == need || r == Submit && need == Read }

// Guard knows the callers by bearer tokens or by the organizational unit of a
// client certificate that TLS has verified. It keeps only digests of tokens,
// and what it says of a caller never holds what the caller sent.
type Guard struct {
	tokens func() []secret // those that count now
}

type secret struct {
	role   Role
	digest [sha256.Size]byte
}

// shortestToken is the length below which a token can be guessed.
const shortestToken = 16

// ReadTokens reads lines of "ROLE TOKEN"; empty ones and those that begin with #
// mean nothing. A role may have several tokens, so that they can be exchanged.
func ReadTokens(from io.Reader) (*Guard, error) {
	all, err := readTokens(from)
	if err != nil {
		return nil, err
	}
	return &Guard{func() []secret { return all }}, nil
}

// TokensFile reads what ReadTokens does from a file, and again when the file has changed. One that
// is damaged, gone, or holds no token leaves the tokens that there were, and log says so.
func TokensFile(log *slog.Logger, path string) (*Guard, error) {
	all, err := peer.Reload(log, func() ([]secret, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("tokens: %w", err)
		}
		all, err := readTokens(bytes.NewReader(text))
		if err == nil && len(all) == 0 {
			err = errors.New("there is no line of \"ROLE TOKEN\" in it")
		}
		if err != nil {
			return nil, fmt.Errorf("tokens: %s: %w", path, err)
		}
		return all, nil
	}, path)
	if err != nil {
		return nil, err
	}
	return &Guard{all.Get}, nil
}

func readTokens(from io.Reader) (all []secret, err error) {
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		fields := strings.Fields(text)
		if len(fields) != 2 || !slices.Contains([]Role{Read, Submit, Worker}, Role(fields[0])) {
			return nil, fmt.Errorf("line %d of the tokens is not \"ROLE TOKEN\" with a role of read, "+
				"submit or worker", n)
		}
		if len(fields[1]) < shortestToken {
			return nil, fmt.Errorf("line %d of the tokens: a token has at least %d characters; "+
				"`openssl rand -hex 32` makes one", n, shortestToken)
		}
		all = append(all, secret{Role(fields[0]), sha256.Sum256([]byte(fields[1]))})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the tokens: %w", err)
	}
	return all, nil
}

// roles are those that a request proves. All tokens are compared, in the same
// time whatever was sent.
func (g *Guard) roles(r *http.Request) (proved []Role) {
	sent, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	digest := sha256.Sum256([]byte(sent))
	for _, t := range g.tokens() {
		if subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1 {
			proved = append(proved, t.role)
		}
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		for _, unit := range r.TLS.PeerCertificates[0].Subject.OrganizationalUnit {
			proved = append(proved, Role(unit))
		}
	}
	return proved
}

// check refuses a request that does not prove one of the roles.
func (g *Guard) check(r *http.Request, need ...Role) error {
	if g == nil {
		return nil
	}
	proved := g.roles(r)
	for _, role := range proved {
		if slices.ContainsFunc(need, role.may) {
			return nil
		}
	}
	if len(proved) == 0 {
		return fmt.Errorf("%w: no token that it knows, and no client certificate, came with the request; "+
			"SEINE_TOKEN or --token-file holds the token", api.ErrDenied)
	}
	return fmt.Errorf("%w: %s needs the role %s", api.ErrDenied, r.URL.Path, need[0])
}
