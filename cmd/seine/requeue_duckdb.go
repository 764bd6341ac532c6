//go:build cgo

package main

import (
	"context"
	"errors"

	"seine/formats/catalog"
)

// whereURLs gives the known URLs for which an expression holds: of SQL where
// DuckDB reaches the store, else of inspect's.
func (a *app) whereURLs(ctx context.Context, l *looking, where string,
	emit func(domain, host, url string) error) (err error) {
	if l.Store.Root == "" {
		return a.comparedURLs(ctx, l, where, emit)
	}
	path, err := l.paths()
	if err != nil {
		return err
	}
	views, err := l.views(ctx, false, path)
	if err != nil {
		return err
	}
	conn, done, err := openDuckDB(ctx, "", 0, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	query := "SELECT domain, host, url FROM urls WHERE (\n" + where + "\n)"
	if err := register(ctx, conn, wanted(views, query), catalog.Unfolded(l.head, path), query); err != nil {
		return err
	}
	rows, err := conn.QueryContext(ctx, query)
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
