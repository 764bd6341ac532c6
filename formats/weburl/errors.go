package weburl

import (
	"errors"
	"fmt"
	"strings"
)

// The classes of what Parse, Resolve and Normalize refuse. Every error they return matches
// exactly one of them with errors.Is; a caller turns the class into a reason code.
var (
	// ErrScheme: a URL of a scheme that is not crawled. SchemeOf names it.
	ErrScheme = errors.New("scheme is not http or https")
	// ErrHost: the host is empty, malformed, or no name that DNS could hold.
	ErrHost = errors.New("invalid host")
	// ErrSyntax: no URL at all: no scheme where one is needed, or a bad port.
	ErrSyntax = errors.New("not a URL")
	// ErrTooLong: longer than MaxInput or Options.MaxLength. Nothing is ever cut short.
	ErrTooLong = errors.New("URL too long")
)

// schemeError says which scheme was refused.
type schemeError struct{ scheme string }

func (e *schemeError) Error() string { return fmt.Sprintf("scheme %q is not crawled", e.scheme) }
func (e *schemeError) Unwrap() error { return ErrScheme }

// SchemeOf returns the lower-case scheme that made err an ErrScheme ("mailto", "javascript"),
// and "" for any other error.
func SchemeOf(err error) string {
	var e *schemeError
	if errors.As(err, &e) {
		return e.scheme
	}
	return ""
}

// Redact makes a text that should have been a URL fit for a message: what may be credentials,
// all up to the last "@" of its authority, is cut out, and it is shortened to about 80 bytes.
func Redact(raw string) string {
	start := 0 // of the authority: after the first slashes, else where raw starts
	if i := strings.IndexAny(raw, `/\@`); i >= 0 && raw[i] != '@' {
		for start = i; start < len(raw) && isSlash(raw[start]); start++ {
		}
	}
	end := start
	for end < len(raw) && !isSlash(raw[end]) && raw[end] != '?' && raw[end] != '#' {
		end++
	}
	if at := strings.LastIndexByte(raw[:end], '@'); at >= start {
		raw = raw[:start] + "…" + raw[at:]
	}
	return shown(raw)
}
