//go:build cgo

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"seine/formats/catalog"
	"seine/formats/objstore/s3"
	"seine/formats/schema"
)

// offline keeps DuckDB from fetching extensions over the network.
const offline = "autoinstall_known_extensions=false&autoload_known_extensions=false"

// openDuckDB opens a database, in memory if path is empty, with one connection:
// settings and variables are the connection's.
func openDuckDB(ctx context.Context, path string, threads int, memory string) (*sql.Conn, func() error, error) {
	dsn := path + "?" + offline
	if threads > 0 {
		dsn += "&threads=" + strconv.Itoa(threads)
	}
	if memory != "" {
		dsn += "&memory_limit=" + url.QueryEscape(memory)
	}
	db, err := sql.Open("duckdb", dsn)
	if err != nil {
		return nil, nil, usagef("start DuckDB: %w", err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, errors.Join(usagef("start DuckDB: %w", err), db.Close())
	}
	done := func() error { return errors.Join(conn.Close(), db.Close()) }
	for _, s := range []string{"SET TimeZone = 'UTC'", "SET parquet_metadata_cache = true"} {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("start DuckDB: %w", err), done())
		}
	}
	return conn, done, nil
}

// runQuery answers q on out; file is the name of the file that out is, "" if it
// is none.
func (a *app) runQuery(ctx context.Context, l *looking, q query, out io.Writer, file string) (err error) {
	conn, done, err := openDuckDB(ctx, "", q.threads, q.memory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	for _, s := range q.before {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return sqlError(err)
		}
	}
	q.sql = strings.TrimRight(strings.TrimSpace(q.sql), "; \n\t")
	if err := l.present(ctx, conn, q, a.snapshot == 0); err != nil {
		return err
	}
	switch q.format {
	case "parquet":
		return copyTo(ctx, conn, q.sql, file)
	case "arrow":
		return arrowOf(ctx, conn, q.sql, out)
	}
	rows, err := conn.QueryContext(ctx, q.sql)
	if err != nil {
		return sqlError(err)
	}
	return printRows(rows, q.format, out)
}

// present gives a connection the views that a statement can mean, with those of
// open rounds or without; what DuckDB cannot read where it is, is brought first.
func (l *looking) present(ctx context.Context, conn *sql.Conn, q query, open bool) error {
	inPlace, err := l.readsInPlace(ctx, conn)
	if err != nil {
		return err
	}
	path, staged, err := l.queryPaths(inPlace, q.cache)
	if err != nil {
		return err
	}
	views, err := l.views(ctx, open, path)
	if err != nil {
		return err
	}
	chosen := wanted(views, q.sql)
	if staged != nil {
		if err := staged.bring(ctx, staged.mentioned(textOf(chosen))); err != nil {
			return err
		}
	}
	return register(ctx, conn, chosen, catalog.Unfolded(l.head, path), q.sql)
}

// readsInPlace says whether DuckDB can read the store's objects where they are. For a
// bucket it needs its httpfs extension, which is loaded if it is installed, and gets
// the keys that the environment has.
func (l *looking) readsInPlace(ctx context.Context, conn *sql.Conn) (bool, error) {
	if l.Store.Root != "" {
		return true, nil
	}
	if _, err := conn.ExecContext(ctx, "LOAD httpfs"); err != nil {
		return false, ctx.Err() // it is not installed
	}
	address, err := s3.ParseAddress(l.Store.URL, os.Getenv)
	if err != nil {
		return false, err
	}
	_, err = conn.ExecContext(ctx, secretSQL(address, os.Getenv("AWS_ACCESS_KEY_ID"),
		os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")))
	if err != nil { // the error's text holds the statement, and so the keys
		return false, errors.New("DuckDB's httpfs does not take the bucket's address and keys")
	}
	return true, nil
}

// register creates the views. urls is first tried without its deltas: if the plan
// of the statement reads no column that they change, it stays so.
func register(ctx context.Context, conn *sql.Conn, views []catalog.View, unfolded catalog.View, query string) error {
	create := func(v catalog.View) error {
		if _, err := conn.ExecContext(ctx, v.Create()); err != nil {
			return fmt.Errorf("view %s: %w; `seine check` tells whether an object is damaged", v.Name, err)
		}
		return nil
	}
	var folded *catalog.View
	for i, v := range views {
		if v.Name == schema.URLs {
			folded, v = &views[i], unfolded
		}
		if err := create(v); err != nil {
			return err
		}
	}
	if folded == nil || unfolded.SQL == folded.SQL || !asksFolded(ctx, conn, query) {
		return nil
	}
	return create(*folded)
}

// asksFolded says whether a statement's plan names a column that deltas change.
// What cannot be planned might.
func asksFolded(ctx context.Context, conn *sql.Conn, query string) bool {
	if strings.Contains(query, ";") {
		return true
	}
	var kind, plan string
	if err := conn.QueryRowContext(ctx, "EXPLAIN (FORMAT JSON) "+query).Scan(&kind, &plan); err != nil {
		return true
	}
	return slices.ContainsFunc(catalog.Folded(), func(c string) bool { return strings.Contains(plan, c) })
}

// metadata are words of statements that ask about views.
var metadata = regexp.MustCompile(`(?i)\b(show|describe|desc|pragma|information_schema|duckdb_\w+|pg_catalog|query_table|query)\b`)

// wanted are the views that a statement can mean, with those they read from, in
// order: to create a view opens its files.
func wanted(views []catalog.View, query string) []catalog.View {
	if metadata.MatchString(query) {
		return views
	}
	query = strings.ToLower(query)
	keep := make([]bool, len(views))
	for i := len(views) - 1; i >= 0; i-- {
		keep[i] = keep[i] || strings.Contains(query, views[i].Name)
		for j := range i {
			keep[j] = keep[j] || keep[i] && readsFrom(views[i].SQL, views[j].Name)
		}
	}
	var out []catalog.View
	for i, v := range views {
		if keep[i] {
			out = append(out, v)
		}
	}
	return out
}

func readsFrom(sql, view string) bool {
	return regexp.MustCompile(`\b(FROM|JOIN) ` + view + `\b`).MatchString(sql)
}

// sqlError says what to do about an error of DuckDB.
func sqlError(err error) error {
	var d *duckdb.Error
	if errors.As(err, &d) {
		switch d.Type {
		case duckdb.ErrorTypeIO:
			return fmt.Errorf("%w\nan object cannot be read: `seine check` says which, --snapshot N asks an older "+
				"snapshot", err)
		case duckdb.ErrorTypeOutOfMemory:
			return fmt.Errorf("%w\ngive DuckDB more with --memory, or ask for less", err)
		case duckdb.ErrorTypeInterrupt:
			return err
		case duckdb.ErrorTypeCatalog, duckdb.ErrorTypeBinder:
			return usagef("%w\n`seine query 'SHOW TABLES'` lists the tables, `seine query 'DESCRIBE urls'` a table's "+
				"columns", err)
		}
	}
	return usagef("%w\n`seine query --questions` has statements that work", err)
}

// quoteText is a string literal of SQL.
func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// copyTo writes the rows to a Parquet file.
func copyTo(ctx context.Context, conn *sql.Conn, query, file string) error {
	_, err := conn.ExecContext(ctx, "COPY (\n"+query+"\n) TO "+quoteText(file)+" (FORMAT parquet, COMPRESSION zstd)")
	if err != nil {
		return sqlError(err)
	}
	return nil
}

// arrowOf writes the rows as an Arrow IPC stream. They go through a Parquet file,
// which keeps every type of DuckDB that Arrow has.
func arrowOf(ctx context.Context, conn *sql.Conn, query string, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "seine-query-*")
	if err != nil {
		return fmt.Errorf("folder for the rows: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "rows.parquet")
	if err := copyTo(ctx, conn, query, file); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	source, err := openForeign(ctx, f)
	if err != nil {
		return err
	}
	defer source.Release()
	return printRecords(source, "arrow", out, -1)
}

// writeDatabase makes a DuckDB database with the views; a file of that name is
// replaced when the new one is whole.
func writeDatabase(output string, views []catalog.View) (err error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp(folderOf(output), ".seine-catalog-*")
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "catalog.duckdb")
	conn, done, err := openDuckDB(ctx, file, 0, "")
	if err != nil {
		return err
	}
	for _, v := range views {
		if _, err := conn.ExecContext(ctx, v.Create()); err != nil {
			return errors.Join(fmt.Errorf("view %s: %w", v.Name, err), done())
		}
	}
	if err := done(); err != nil {
		return fmt.Errorf("write %s: %w", output, err)
	}
	return os.Rename(file, output)
}
