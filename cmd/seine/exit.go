package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/state"
	"seine/formats/lsm"
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

const exitCodesHelp = `Exit codes:
  0  done
  1  something went wrong; the message says what to do next
  2  the command line, a setting, a seed or a query is wrong; nothing was done
  3  there is no such store, crawl, round, URL or page
  4  another process works on the crawl, or no coordinator answers
  5  stopped on request; the same command goes on
  6  check found a broken rule or a damaged object
  7  the object store is away or full
  8  a limit was reached; more waits`

// exitError gives an error its code.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

// usage marks an error of the command line.
func usage(err error) error { return exitError{exitUsage, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// advise adds where the right words are found.
func advise(c *cobra.Command, err error) error {
	return fmt.Errorf("%w; `%s --help` lists what there is", err, c.CommandPath())
}

// absent marks what was asked for and is not there.
func absent(err error) error { return exitError{exitNoCrawl, err} }

func absentf(format string, args ...any) error { return absent(fmt.Errorf(format, args...)) }

// arguments wraps a check of the arguments, so that its error is one of usage.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usage(advise(c, err))
		}
		return nil
	}
}

func exitCode(err error) int {
	var coded exitError
	var locked *dir.LockedError
	var file *node.FileError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &file):
		return exitUsage
	case errors.Is(err, node.ErrDrained), errors.Is(err, context.Canceled):
		return exitStopped
	case errors.As(err, &locked), errors.Is(err, leader.ErrHeld), errors.Is(err, leader.ErrStepDown),
		errors.Is(err, api.ErrUnavailable), errors.Is(err, api.ErrNotLeader):
		return exitInUse
	case errors.Is(err, objstore.ErrUnavailable), errors.Is(err, objstore.ErrFull):
		return exitStorage
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, node.ErrNoCrawl), errors.Is(err, state.ErrNoJob),
		errors.Is(err, lsm.ErrExpired):
		return exitNoCrawl
	case strings.HasPrefix(err.Error(), "unknown command"), strings.HasPrefix(err.Error(), "unknown flag"):
		return exitUsage
	}
	return exitFailed
}
