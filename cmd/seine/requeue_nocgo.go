//go:build !cgo

package main

import (
	"context"
	"fmt"
)

// whereURLs gives the known URLs for which an expression holds.
func (a *app) whereURLs(ctx context.Context, l *looking, where, _ string,
	emit func(domain, host, url string) error) error {
	if err := a.comparedURLs(ctx, l, where, emit); err != nil {
		return fmt.Errorf("%w\nthis build of seine has no DuckDB, because it was made without cgo: it compares columns "+
			"with literals only", err)
	}
	return nil
}
