//go:build cgo

package main

import (
	"context"
	"errors"
)

// whereURLs gives the known URLs for which an expression of SQL holds. Of a bucket,
// what inspect can compare is read as it comes; anything else DuckDB must have on
// this machine, as for `seine query`.
func (a *app) whereURLs(ctx context.Context, l *looking, where, cache string,
	emit func(domain, host, url string) error) (err error) {
	if l.Store.Root == "" && l.compares(where) {
		return a.comparedURLs(ctx, l, where, emit)
	}
	conn, done, err := openDuckDB(ctx, "", 0, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	q := query{sql: "SELECT domain, host, url FROM urls WHERE (\n" + where + "\n)", cache: cache}
	if err := l.present(ctx, conn, q, false); err != nil {
		return err
	}
	rows, err := conn.QueryContext(ctx, q.sql)
	if err != nil {
		return sqlError(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var domain, host, url string
		if err := rows.Scan(&domain, &host, &url); err != nil {
			return sqlError(err)
		}
		if err := emit(domain, host, url); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return sqlError(err)
	}
	return nil
}
