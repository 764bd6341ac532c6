//go:build !cgo

package main

import (
	"context"
	"errors"
	"io"

	"seine/formats/catalog"
)

var errNoDuckDB = exitError{exitUsage, errors.New("this build of seine has no DuckDB, because it was made without " +
	"cgo; build it with CGO_ENABLED=1 and a C compiler, or let a DuckDB of your own read the views that " +
	"`seine catalog` prints")}

func (a *app) runQuery(context.Context, *looking, query, io.Writer, string) error { return errNoDuckDB }

func writeDatabase(string, []catalog.View) error { return errNoDuckDB }
