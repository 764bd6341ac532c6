// Package server puts a coordinator on HTTP: JSON bodies, bounded, under time
// limits. It decides nothing. Only clients that send JSON and name the address
// they mean are heard, so that no web page can speak through a browser to a
// coordinator on loopback. Elsewhere a Guard asks callers for a token or a client
// certificate, and TLS keeps both and the crawl from others' eyes.
package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs/worker"
)

// bodyLimit bounds a request: a heartbeat of a worker with a thousand tasks, or
// the spec of a compaction, is below a megabyte.
const bodyLimit = 8 << 20

// Options of a server. The zero value is an embedded node's, on loopback.
type Options struct {
	// Store is the name of the crawl's store, for whoever asks which it is.
	Store string
	// Group answers for a member of a group; nil: there is none.
	Group api.Group
	// Guard asks callers who they are; nil: whoever can connect may do all.
	Guard *Guard
	TLS   *tls.Config // nil: plain HTTP
}

// routes are a mux under construction.
type routes struct {
	mux   *http.ServeMux
	guard *Guard
}

// Handler answers for a coordinator.
func Handler(conn api.Conn, o Options) http.Handler {
	r := routes{http.NewServeMux(), o.Guard}
	post(r, api.PathSubmit, conn.Submit, Submit)
	post(r, api.PathWatch, func(ctx context.Context, w api.Watch) (api.Job, error) {
		return conn.Watch(ctx, w.JobRef, w.After)
	}, Read)
	post(r, api.PathCancel, silent[state.Cancel](conn.Cancel), Submit)
	post(r, api.PathRerun, silent[state.Rerun](conn.Rerun), Submit)
	post(r, api.PathCommit, silent[state.CommitPartial](conn.Commit), Submit)
	post(r, api.PathSettings, silent[api.Settings](conn.Heed), Submit)
	post(r, api.PathRepeat, silent[state.Loop](conn.Repeat), Submit)
	post(r, api.PathEndLoop, silent[state.EndLoop](conn.EndLoop), Submit)
	post(r, api.PathClaim, conn.Claim, Worker)
	post(r, api.PathHeartbeat, conn.Heartbeat, Worker)
	post(r, api.PathComplete, silent[worker.Completion](conn.Complete), Worker)
	post(r, api.PathFail, silent[worker.Failure](conn.Fail), Worker)
	post(r, api.PathLeave, silent[worker.Leave](conn.Leave), Worker)
	get(r, api.PathStatus, conn.Status, Read)
	get(r, api.PathJobs, conn.Jobs, Read)
	get(r, api.PathCrawl, func(context.Context) (api.Crawl, error) {
		return api.Crawl{Store: o.Store}, nil
	}, Read, Worker)
	if g := o.Group; g != nil {
		get(r, api.PathGroup, g.Group, Read)
		get(r, api.PathFormat, g.Format, Read)
		post(r, api.PathAdd, silent[api.Member](g.Add), Submit)
		post(r, api.PathRemove, silent[api.MemberRef](g.Remove), Submit)
		post(r, api.PathTransfer, silent[api.MemberRef](g.Transfer), Submit)
		r.mux.HandleFunc("GET "+api.PathHealth, health(g))
	}
	if o.Guard != nil { // who proves itself is not a web page
		return r.mux
	}
	return guarded(r.mux)
}

// health answers whoever asks whether the node can serve: whether it knows a
// leader.
func health(g api.Group) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		members, err := g.Group(r.Context())
		leads := func(m api.Member) bool { return m.Leader }
		if err != nil || !slices.ContainsFunc(members.Members, leads) {
			http.Error(w, "no leader is known", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n") // who asked has gone
	}
}

// Serve answers on a listener until ctx ends, then ends what is open and waits
// for it.
func Serve(ctx context.Context, on net.Listener, conn api.Conn, o Options) error {
	if o.TLS != nil {
		on = tls.NewListener(on, o.TLS)
	}
	s := &http.Server{
		Handler:           Handler(conn, o),
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // strangers' mistakes
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second, // a long poll and its answer
		IdleTimeout:       2 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(on) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", on.Addr(), err)
	case <-ctx.Done():
	}
	// The requests' own context has ended too, so this is quick; whoever does not take
	// its answer is cut off, which is no failure of the server.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := s.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	<-served
	if err != nil {
		return fmt.Errorf("stop serving %s: %w", on.Addr(), err)
	}
	return nil
}

// silent gives a call without an answer an empty one.
func silent[A any](do func(context.Context, A) error) func(context.Context, A) (struct{}, error) {
	return func(ctx context.Context, a A) (struct{}, error) { return struct{}{}, do(ctx, a) }
}

func post[A, R any](to routes, path string, do func(context.Context, A) (R, error), need ...Role) {
	to.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		if err := to.guard.check(r, need...); err != nil {
			answer(w, nil, err)
			return
		}
		var ask A
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
			answer(w, nil, fmt.Errorf("the body must be application/json: %w", api.ErrBadRequest))
			return
		}
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit))
		if err := d.Decode(&ask); err != nil {
			answer(w, nil, fmt.Errorf("%v: %w", err, api.ErrBadRequest))
			return
		}
		got, err := do(r.Context(), ask)
		answer(w, got, err)
	})
}

func get[R any](to routes, path string, do func(context.Context) (R, error), need ...Role) {
	to.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		if err := to.guard.check(r, need...); err != nil {
			answer(w, nil, err)
			return
		}
		got, err := do(r.Context())
		answer(w, got, err)
	})
}

func answer(w http.ResponseWriter, got any, err error) {
	status := http.StatusOK
	if err != nil {
		status, got = api.Encode(err)
	}
	body, err := json.Marshal(got)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"code":"internal"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who asked has gone; there is nobody to tell
}

// guarded refuses, on loopback, requests that were meant for another name: a
// page whose name was made to point here.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if local != nil && loopback(local.String()) && !loopback(r.Host) {
			answer(w, nil, fmt.Errorf("host %q is not this one: %w", r.Host, api.ErrBadRequest))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopback says whether host, with or without a port, names this machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
