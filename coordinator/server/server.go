// Package server puts a coordinator on HTTP: JSON bodies, bounded, under time
// limits. It decides nothing. Only clients that send JSON and name the address
// they mean are heard, so that no web page can speak through a browser to a
// coordinator on loopback. There is no authentication: listen where only those
// who may command the crawl can connect.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs/worker"
)

// bodyLimit bounds a request: a heartbeat of a worker with a thousand tasks, or
// the spec of a compaction, is below a megabyte.
const bodyLimit = 8 << 20

// Handler answers for a coordinator.
func Handler(conn api.Conn) http.Handler {
	mux := http.NewServeMux()
	post(mux, api.PathSubmit, conn.Submit)
	post(mux, api.PathWatch, func(ctx context.Context, w api.Watch) (api.Job, error) {
		return conn.Watch(ctx, w.JobRef, w.After)
	})
	post(mux, api.PathCancel, silent[state.Cancel](conn.Cancel))
	post(mux, api.PathRerun, silent[state.Rerun](conn.Rerun))
	post(mux, api.PathCommit, silent[state.CommitPartial](conn.Commit))
	post(mux, api.PathSettings, silent[api.Settings](conn.Heed))
	post(mux, api.PathClaim, conn.Claim)
	post(mux, api.PathHeartbeat, conn.Heartbeat)
	post(mux, api.PathComplete, silent[worker.Completion](conn.Complete))
	post(mux, api.PathFail, silent[worker.Failure](conn.Fail))
	post(mux, api.PathLeave, silent[worker.Leave](conn.Leave))
	get(mux, api.PathStatus, conn.Status)
	get(mux, api.PathJobs, conn.Jobs)
	return guarded(mux)
}

// Serve answers on a listener until ctx ends, then ends what is open and waits
// for it.
func Serve(ctx context.Context, on net.Listener, conn api.Conn) error {
	s := &http.Server{
		Handler:           Handler(conn),
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
	// The requests' own context has ended too, so this is quick.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := s.Shutdown(last)
	<-served
	if err != nil {
		return errors.Join(fmt.Errorf("stop serving %s: %w", on.Addr(), err), s.Close())
	}
	return nil
}

// silent gives a call without an answer an empty one.
func silent[A any](do func(context.Context, A) error) func(context.Context, A) (struct{}, error) {
	return func(ctx context.Context, a A) (struct{}, error) { return struct{}{}, do(ctx, a) }
}

func post[A, R any](mux *http.ServeMux, path string, do func(context.Context, A) (R, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
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

func get[R any](mux *http.ServeMux, path string, do func(context.Context) (R, error)) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
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
