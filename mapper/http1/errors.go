package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// Phase is how far an exchange got.
type Phase string

// The phases, in order.
const (
	PhaseDial   Phase = "dial"
	PhaseTLS    Phase = "tls"
	PhaseWrite  Phase = "write"
	PhaseHeader Phase = "header"
	PhaseBody   Phase = "body"
)

// Code classes what went wrong, for a reason in a table.
type Code string

// The codes. Each is one cause, whatever the phase.
const (
	CodeRequest        Code = "bad_request"        // the request cannot be put on one line each
	CodeDial           Code = "dial"               // the dialler refused or failed otherwise
	CodeConnectRefused Code = "connect_refused"    //
	CodeConnectTimeout Code = "connect_timeout"    // dial or handshake
	CodeUnreachable    Code = "unreachable"        // no route to host or network
	CodeCertificate    Code = "tls_certificate"    // not trusted, expired, another name
	CodeHandshake      Code = "tls_handshake"      // any other trouble of TLS
	CodeReset          Code = "reset"              //
	CodeEOF            Code = "eof"                // closed before the answer, or in it
	CodeFirstByte      Code = "timeout_first_byte" //
	CodeTotal          Code = "timeout_total"      //
	CodeTooSlow        Code = "too_slow"           // under the minimum rate
	CodeHeaderTooLarge Code = "header_too_large"   //
	CodeMalformed      Code = "malformed"          // framing beyond repair
	CodeGate           Code = "gate"               // the caller's gate closed; Err wraps its error
	CodeStale          Code = "stale"              // a kept connection was dead: see Do
	CodeCanceled       Code = "canceled"           // the caller's context ended; Err wraps its cause
)

// An Error is an exchange without a response.
type Error struct {
	Phase Phase
	Code  Code
	// Sent means that bytes of the request left this machine, so that the server may have seen it.
	Sent bool
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Phase, e.Code, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Causes that this package's own connection reports.
var (
	errFirstByte = errors.New("no first byte in time")
	errTotal     = errors.New("exchange took too long")
	errTooSlow   = errors.New("under the minimum rate")
	errConnect   = errors.New("connecting took too long")
)

// gateError marks what a Gate said on its way up through TLS.
type gateError struct{ err error }

func (e *gateError) Error() string { return "gate: " + e.err.Error() }
func (e *gateError) Unwrap() error { return e.err }

// failed makes an error of what went wrong in a phase.
func failed(ctx context.Context, phase Phase, err error, fallback Code) *Error {
	e := &Error{Phase: phase, Code: classify(ctx, err, fallback), Err: err}
	if e.Code == CodeCanceled {
		e.Err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return e
}

// classify gives the code of an I/O error; fallback is for what nothing else tells.
func classify(ctx context.Context, err error, fallback Code) Code {
	var gate *gateError
	var certificate *tls.CertificateVerificationError
	var network net.Error
	switch {
	case errors.As(err, &gate):
		return CodeGate
	case errors.Is(err, errConnect):
		return CodeConnectTimeout
	case errors.Is(err, errFirstByte):
		return CodeFirstByte
	case errors.Is(err, errTotal):
		return CodeTotal
	case errors.Is(err, errTooSlow):
		return CodeTooSlow
	case ctx.Err() != nil:
		return CodeCanceled
	case errors.As(err, &certificate):
		return CodeCertificate
	case errors.Is(err, syscall.ECONNREFUSED):
		return CodeConnectRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.ENETDOWN), errors.Is(err, syscall.EHOSTDOWN):
		return CodeUnreachable
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNABORTED):
		return CodeReset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe):
		return CodeEOF
	case errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return CodeConnectTimeout
	}
	return fallback
}
