package main

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// sick is an S3 server that suffers from an illness: it stands before one that is well.
type sick struct {
	next http.Handler

	mu      sync.Mutex
	illness illness
	changed chan struct{} // closed when the illness changes
	dice    *rand.Rand    // of moody
	faults  int           // requests that suffered from the illness
}

// illness is what an S3 server suffers from.
type illness int

const (
	well    illness = iota
	moody           // now and then: away, forgetful or late
	away            // 503, and nothing has happened
	forget          // 503, though it has happened
	hanging         // no answer, and in the end a connection that is broken
	full            // 507 for whoever brings something
	late            // an answer that takes its time
)

func (i illness) String() string {
	return []string{"well", "moody", "away", "forgetful", "hanging", "full", "late"}[i]
}

// moodyOneIn: so many requests to a moody server, and one of them suffers from each of three
// illnesses.
const moodyOneIn = 120

// newSick stands before the server at endpoint; it is well, and has an address of its own.
func newSick(t *testing.T, endpoint string, dice *rand.Rand) (*sick, string) {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	s := &sick{dice: dice, changed: make(chan struct{}), next: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // it is part of what was signed
		}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusServiceUnavailable) // who asked has gone, or the test is over
		}}}
	address := serveLocal(t, s)
	t.Cleanup(func() { s.suffer(well) }) // nobody hangs when the server is closed
	return s, address
}

// suffer gives it another illness, and says how many requests suffered from the one before.
func (s *sick) suffer(from illness) (faults int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	faults, s.illness, s.faults = s.faults, from, 0
	close(s.changed)
	s.changed = make(chan struct{})
	return faults
}

// suffered is how many requests have suffered from the illness.
func (s *sick) suffered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults
}

// ServeHTTP implements http.Handler.
func (s *sick) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	illness, pause, changed := s.fate(r.Method)
	switch illness {
	case away:
		_, _ = io.Copy(io.Discard, r.Body)
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
	case forget:
		s.next.ServeHTTP(&unheard{header: http.Header{}}, r)
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
	case hanging:
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case full:
		_, _ = io.Copy(io.Discard, r.Body)
		refuse(w, http.StatusInsufficientStorage, "XMinioStorageFull")
	case late:
		time.Sleep(pause)
		s.next.ServeHTTP(w, r)
	default:
		s.next.ServeHTTP(w, r)
	}
}

// fate is what happens to the next request.
func (s *sick) fate(method string) (is illness, pause time.Duration, changed chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch is = s.illness; {
	case is == moody:
		is, pause = well, time.Duration(s.dice.IntN(4000))*time.Millisecond
		if n := s.dice.IntN(moodyOneIn); n < 3 {
			is = []illness{away, forget, late}[n]
		}
	case is == full && method != http.MethodPut && method != http.MethodPost:
		is = well
	}
	if is != well {
		s.faults++
	}
	return is, pause, s.changed
}

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = io.Copy(w, strings.NewReader("<Error><Code>"+code+"</Code><Message>m</Message></Error>"))
}

// unheard is an answer that nobody gets.
type unheard struct{ header http.Header }

func (u *unheard) Header() http.Header         { return u.header }
func (u *unheard) Write(p []byte) (int, error) { return len(p), nil }
func (u *unheard) WriteHeader(int)             {}
