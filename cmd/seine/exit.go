package main

import (
	"errors"
	"io/fs"
	"strings"

	"seine/cmd/internal/node"
	"seine/coordinator/api"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
)

// Exit codes, the same for every verb.
const (
	exitOK      = 0
	exitFailed  = 1 // something went wrong; the message says what to do next
	exitUsage   = 2 // the command line, a setting or a query is wrong
	exitNoCrawl = 3 // there is no such store, crawl, table, row
	exitInUse   = 4 // another process works on the crawl, or no coordinator answers
	exitStopped = 5 // stopped on request; the same command goes on
	exitDamaged = 6 // check found a broken must or a damaged object
	exitStorage = 7 // the object store is away or full
	exitWaiting = 8 // a limit was reached; more waits
)

// exitError gives an error its code.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

// usage marks an error of the command line.
func usage(err error) error { return exitError{exitUsage, err} }

// absent marks what was asked for and is not there.
func absent(err error) error { return exitError{exitNoCrawl, err} }

func exitCode(err error) int {
	var coded exitError
	var locked *dir.LockedError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, node.ErrDrained):
		return exitStopped
	case errors.As(err, &locked), errors.Is(err, api.ErrUnavailable):
		return exitInUse
	case errors.Is(err, objstore.ErrUnavailable), errors.Is(err, objstore.ErrFull):
		return exitStorage
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, node.ErrNoCrawl):
		return exitNoCrawl
	case strings.HasPrefix(err.Error(), "unknown command"), strings.HasPrefix(err.Error(), "unknown flag"):
		return exitUsage
	}
	return exitFailed
}
