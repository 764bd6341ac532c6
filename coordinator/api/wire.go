package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"seine/coordinator/state"
	"seine/jobs"
)

var (
	// ErrNotLeader: ask another coordinator, or this one a little later.
	ErrNotLeader = errors.New("this coordinator does not lead")
	// ErrUnavailable: the coordinator could not be reached, or could not answer
	// in time. What was asked may have been done.
	ErrUnavailable = errors.New("the coordinator does not answer")
	// ErrBadRequest: what was sent cannot be read.
	ErrBadRequest = errors.New("the request cannot be read")
	// ErrDenied: the caller has not shown that it may do this.
	ErrDenied = errors.New("the coordinator does not allow it")
)

// Paths below the address of a coordinator. All take POST with a JSON body and
// answer JSON; Status and Jobs take GET.
const (
	PathSubmit    = "/v1/submit"
	PathStatus    = "/v1/status"
	PathJobs      = "/v1/jobs"
	PathWatch     = "/v1/watch"
	PathCancel    = "/v1/cancel"
	PathRerun     = "/v1/rerun"
	PathCommit    = "/v1/commit"
	PathSettings  = "/v1/settings"
	PathRepeat    = "/v1/loop"
	PathEndLoop   = "/v1/loop/end"
	PathClaim     = "/v1/worker/claim"
	PathHeartbeat = "/v1/worker/heartbeat"
	PathComplete  = "/v1/worker/complete"
	PathFail      = "/v1/worker/fail"
	PathLeave     = "/v1/worker/leave"
)

// Watch is the body of PathWatch.
type Watch struct {
	state.JobRef
	After uint64 `json:"after"`
}

// Error is the body of an answer that is no success.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// code is how a sentinel travels.
type code struct {
	name   string
	status int
	err    error
}

var codes = []code{
	{"stale_attempt", http.StatusConflict, jobs.ErrStaleAttempt},
	{"phase", http.StatusConflict, state.ErrPhase},
	{"no_job", http.StatusNotFound, state.ErrNoJob},
	{"refused", http.StatusUnprocessableEntity, state.ErrRefused},
	{"bad_request", http.StatusBadRequest, ErrBadRequest},
	{"denied", http.StatusForbidden, ErrDenied},
	{"not_leader", http.StatusServiceUnavailable, ErrNotLeader},
	{"unavailable", http.StatusServiceUnavailable, ErrUnavailable},
}

// Encode returns the HTTP status and the body for an error.
func Encode(err error) (status int, body Error) {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.status, Error{c.name, err.Error()}
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return http.StatusServiceUnavailable, Error{"unavailable", err.Error()} // it ends just now
	}
	return http.StatusInternalServerError, Error{"internal", err.Error()}
}

// Err turns the body back into an error that wraps its sentinel.
func (e Error) Err() error {
	for _, c := range codes {
		if e.Code == c.name {
			return remote{e.Message, c.err}
		}
	}
	return fmt.Errorf("the coordinator answers: %s", e.Message)
}

// remote is an error that came over the wire: its text has the sentinel's in it
// already.
type remote struct {
	message  string
	sentinel error
}

func (r remote) Error() string { return r.message }

func (r remote) Unwrap() error { return r.sentinel }
