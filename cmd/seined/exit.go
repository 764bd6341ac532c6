package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"seine/cmd/internal/node"
	"seine/coordinator/group"
	"seine/coordinator/leader"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
)

// Exit codes; where seine has the same case it has the same code.
const (
	exitOK      = 0 // stopped on request
	exitFailed  = 1 // something went wrong; the message says what to do next
	exitUsage   = 2 // the command line is wrong
	exitNoCrawl = 3 // there is no such store or crawl
	exitInUse   = 4 // another process has the data folder or the store
	exitDamaged = 6 // the store holds what cannot be read
	exitStorage = 7 // the object store is away or full
	exitFenced  = 9 // another group has the crawl, or the group took the node out: do not start it again
)

const exitCodesHelp = `Exit codes:
  0  stopped on request
  1  something went wrong; the message says what to do next
  2  the command line is wrong
  3  there is no such store or crawl
  4  another process has the data folder or the store
  6  the store holds what cannot be read
  7  the object store is away or full
  9  another group of coordinators has taken the crawl over, or this node has been taken
     out of its group: do not start it again`

// usageError is one of the command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func exitCode(err error) int {
	var wrong usageError
	var locked *dir.LockedError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &wrong), strings.HasPrefix(err.Error(), "unknown command"):
		return exitUsage
	case errors.Is(err, leader.ErrStepDown), errors.Is(err, group.ErrRemoved):
		return exitFenced
	case errors.Is(err, leader.ErrDamaged):
		return exitDamaged
	case errors.As(err, &locked), errors.Is(err, node.ErrForeign):
		return exitInUse
	case errors.Is(err, objstore.ErrUnavailable), errors.Is(err, objstore.ErrFull):
		return exitStorage
	case errors.Is(err, node.ErrNoCrawl), errors.Is(err, fs.ErrNotExist):
		return exitNoCrawl
	}
	return exitFailed
}
