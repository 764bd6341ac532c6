package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"seine/formats/catalog"
	"seine/formats/layout"
	"seine/formats/objstore/s3"
)

const catalogLong = `Prints the views over a snapshot as SQL, for DuckDB anywhere: the tables as the
snapshot has them, cc_index with Common Crawl's columns, links_current, and the
open_* views of a running round. With -o they are written into a DuckDB database,
which any DuckDB opens (this needs a build with cgo). With --files the Parquet files
of one table are listed, for readers that need no views; for tables that are kept
as sorted runs the files hold rows that no longer count, which the views leave out.

Views name files, so they show the snapshot that they were made for, as long as its
objects are kept.

For a crawl in a bucket the files are named s3://…, and the script begins with the
secret that DuckDB needs to read them, to be filled in.`

const catalogExample = `  seine catalog > views.sql
  seine catalog -o crawl.duckdb && duckdb crawl.duckdb
  seine catalog --files pages
  seine catalog --snapshot 12`

func newCatalog(a *app) *cobra.Command {
	var output, table string
	c := &cobra.Command{
		Use: "catalog", Short: "The tables as DuckDB views, in SQL or as a database", Long: catalogLong,
		Example: catalogExample, Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if output != "" && table != "" {
				return usagef("-o and --files exclude each other; choose one")
			}
			return a.catalog(c.Context(), output, table)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write a DuckDB database with the views to this file")
	c.Flags().StringVar(&table, "files", "", "list the files of this table, or of warc")
	addSnapshot(a, c)
	return c
}

func (a *app) catalog(ctx context.Context, output, table string) error {
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	path, err := l.paths()
	if err != nil {
		return err
	}
	if table != "" {
		return a.files(l, table, path)
	}
	views, err := l.views(ctx, a.snapshot == 0, path)
	if err != nil {
		return err
	}
	if output != "" {
		if l.Store.Root == "" {
			return usagef("DuckDB opens the files of a view when it makes it, and cannot reach a bucket without its " +
				"httpfs extension: print the views with `seine catalog` and run them where it is installed")
		}
		if err := writeDatabase(output, views); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.err, "%s: %d views over snapshot %d\n", output, len(views), l.head.N)
		return err
	}
	advice, err := l.secretAdvice()
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.out, advice+catalog.SQL(l.head, views))
	return err
}

func (a *app) files(l *looking, table string, path func(layout.Key) string) error {
	if table != "warc" && !slices.Contains(catalog.Tables(), table) {
		return absentf("there is no table %q; tables are %s, warc", table, strings.Join(catalog.Tables(), ", "))
	}
	for _, key := range catalog.Files(l.head, table) {
		if _, err := fmt.Fprintln(a.out, path(key)); err != nil {
			return err
		}
	}
	return nil
}

// paths says where DuckDB finds an object.
func (l *looking) paths() (func(layout.Key) string, error) {
	if l.Store.Root == "" {
		address, err := s3.ParseAddress(l.Store.URL, os.Getenv)
		if err != nil {
			return nil, err
		}
		base := "s3://" + address.Bucket + "/"
		if address.Prefix != "" {
			base += address.Prefix + "/"
		}
		return func(key layout.Key) string { return base + key }, nil
	}
	root, err := filepath.Abs(l.Store.Root)
	if err != nil {
		return nil, fmt.Errorf("folder of the store: %w", err)
	}
	return func(key layout.Key) string { return filepath.Join(root, filepath.FromSlash(key)) }, nil
}

// views are the views over the snapshot; newest says that it is the newest, so
// that the round that is running, if any, is the one that follows it.
func (l *looking) views(ctx context.Context, newest bool, path func(layout.Key) string) ([]catalog.View,
	error) {
	var open *catalog.OpenRounds
	if newest {
		var err error
		if open, err = l.openRounds(ctx); err != nil {
			return nil, err
		}
	}
	s, err := stored(ctx, l.Crawl, 0)
	if err != nil {
		return nil, err
	}
	blocks := make([]catalog.Block, len(s.Blocks))
	for i, b := range s.Blocks {
		blocks[i] = catalog.Block{What: b.What, Reason: b.Reason, By: b.By, At: b.At, Until: b.Until}
	}
	return append(catalog.Views(l.head, open, path), catalog.Blocks(blocks)), nil
}
