package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/spf13/cobra"

	"seine/formats/lsm"
	"seine/formats/objstore"
)

const inspectLong = `Shows rows, columns or statistics of a table of the crawl, or of any Parquet file, of
whomever; needs no DuckDB and no coordinator. A table is shown as the snapshot has it
(sorted runs folded, the frontier without its stale rows); a file as it is. A file is
one of the disk, or the key of an object of the store.

--round N shows what round N added to a table that only grows, and other tables as
they were when round N was committed. --where takes comparisons of columns with
literals (= != < <= > >= LIKE IN, IS NULL), joined by AND, OR, NOT and parentheses.`

const inspectExample = `  seine inspect urls --where "crawl_status = 'FAILED' and fail_count > 2"
  seine inspect fetches --round 3 --columns url,reason,http_status --limit 100
  seine inspect domains --stats
  seine inspect pages --format arrow --limit -1 > pages.arrow
  seine inspect /data/part-0.parquet --schema`

// inspection is what to show.
type inspection struct {
	what    string
	round   int64
	where   string
	limit   int64
	columns []string
	format  string
	schema  bool
	stats   bool
}

var inspectFormats = []string{"table", "csv", "json", "arrow"}

// errEnough ends reading when the limit is reached.
var errEnough = errors.New("enough rows")

func newInspect(a *app) *cobra.Command {
	var in inspection
	c := &cobra.Command{
		Use: "inspect TABLE|FILE", Short: "Rows, columns, statistics of a table or Parquet file",
		Long: inspectLong, Example: inspectExample, Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			in.what = args[0]
			if a.json && in.format == "table" {
				in.format = "json"
			}
			return a.inspect(c.Context(), in)
		},
	}
	f := c.Flags()
	f.Int64Var(&in.round, "round", 0, "what this round added, or left")
	f.StringVar(&in.where, "where", "", "show only rows for which this holds")
	f.Int64Var(&in.limit, "limit", 20, "rows at most; below 0: all")
	f.StringSliceVar(&in.columns, "columns", nil, "show only these columns, in this order")
	f.StringVar(&in.format, "format", "table", "how to print: "+strings.Join(inspectFormats, ", "))
	f.BoolVar(&in.schema, "schema", false, "print the columns and their types")
	f.BoolVar(&in.stats, "stats", false, "print statistics of the columns, over all rows")
	addSnapshot(a, c)
	return c
}

func (a *app) inspect(ctx context.Context, in inspection) error {
	switch {
	case !slices.Contains(inspectFormats, in.format):
		return usagef("--format %s is unknown; it is one of %s", in.format, strings.Join(inspectFormats, ", "))
	case in.schema && in.stats:
		return usagef("--schema and --stats exclude each other; choose one")
	case in.format == "arrow" && (in.schema || in.stats):
		return usagef("--schema and --stats are printed as table, csv or json")
	}
	src, done, err := a.inspected(ctx, in)
	if err != nil {
		return err
	}
	defer done()
	if in.schema {
		return printSchema(src.schema, in.format, a.out)
	}
	chosen, err := newSelection(src.schema, in.columns, in.where)
	if err != nil {
		return err
	}
	if in.stats {
		stats := newStatistics(chosen.schema)
		err := a.eachChosen(ctx, src, chosen, in, func(rec arrow.RecordBatch) error { stats.record(rec); return nil })
		if err != nil {
			return err
		}
		if in.format == "table" {
			fmt.Fprintf(a.out, "%s: %d rows, in %d files of %d bytes\n", src.name, stats.rows, src.files, src.bytes)
		}
		return stats.print(in.format, a.out)
	}
	return a.printChosen(ctx, src, chosen, in)
}

func (a *app) printChosen(ctx context.Context, src *source, chosen *selection, in inspection) error {
	if in.format == "arrow" && isTerminal(a.out) {
		return usagef("Arrow is not for a terminal; send it to a file with > FILE")
	}
	p, err := newRecordPrinter(chosen.schema, in.format, a.out)
	if err != nil {
		return err
	}
	left := in.limit
	err = a.eachChosen(ctx, src, chosen, in, func(rec arrow.RecordBatch) error {
		if left >= 0 && rec.NumRows() > left {
			rec = rec.NewSlice(0, left)
			defer rec.Release()
		}
		if err := p.record(rec); err != nil {
			return err
		}
		if left >= 0 {
			if left -= rec.NumRows(); left == 0 {
				return errEnough
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return p.finish()
}

// isTerminal says whether out is a character device.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// eachChosen reads the columns that are needed, and passes on the rows chosen.
func (a *app) eachChosen(ctx context.Context, src *source, chosen *selection, in inspection,
	use func(arrow.RecordBatch) error) error {
	var columns []string
	if len(in.columns) > 0 {
		columns = slices.Clone(in.columns)
		if chosen.where != nil {
			columns = append(columns, chosen.where.columns...)
		}
	}
	return src.each(ctx, columns, func(rec arrow.RecordBatch) error {
		rec, err := chosen.apply(ctx, rec)
		if err != nil {
			return err
		}
		defer rec.Release()
		return use(rec)
	})
}

// inspected finds what is to be shown.
func (a *app) inspected(ctx context.Context, in inspection) (*source, func(), error) {
	tables := inspectables()
	at := slices.IndexFunc(tables, func(t inspectable) bool { return t.name == in.what })
	if at < 0 {
		if info, err := os.Stat(in.what); err == nil && !info.IsDir() {
			return fileSource(ctx, in.what)
		}
	}
	l, err := a.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	if at < 0 {
		src, err := objectSource(ctx, l, in.what)
		if err != nil {
			l.done()
			return nil, nil, err
		}
		return src, l.done, nil
	}
	if in.round > 0 {
		switch m, err := l.asOfRound(ctx, uint64(in.round)); {
		case err == nil:
			l.head = m
		case errors.Is(err, lsm.ErrExpired) && tables[at].grows:
		default:
			l.done()
			return nil, nil, err
		}
	}
	return tables[at].open(l, in.round), l.done, nil
}

// asOfRound is the snapshot that a round left.
func (l *looking) asOfRound(ctx context.Context, round uint64) (*lsm.Manifest, error) {
	m := l.head
	for m.N > 0 && m.Job != round {
		var err error
		if m, err = l.Snapshot(ctx, m.N-1); err != nil {
			return nil, err
		}
		if m.N == l.head.N || m.N == 0 {
			break
		}
	}
	if m.Job != round {
		return nil, absentf("there is no round %d in snapshot %d; `seine round list` shows which there are", round,
			l.head.N)
	}
	return m, nil
}

func fileSource(ctx context.Context, name string) (*source, func(), error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, absent(err)
	}
	done := func() { _ = f.Close() } // only read
	info, err := f.Stat()
	if err == nil {
		var src *source
		if src, err = parquetSource(ctx, name, info.Size(), f); err == nil {
			return src, done, nil
		}
	}
	done()
	return nil, nil, err
}

func objectSource(ctx context.Context, l *looking, key string) (*source, error) {
	info, err := l.Store.Stat(ctx, key)
	if err != nil {
		names := []string{}
		for _, t := range inspectables() {
			names = append(names, t.name)
		}
		if errors.Is(err, objstore.ErrNotExist) || objstore.CheckKey(key) != nil {
			return nil, absentf("there is no table, file or object %q; tables are %s", key, strings.Join(names, ", "))
		}
		return nil, err
	}
	src, err := l.Store.Open(ctx, key, info.Size)
	if err != nil {
		return nil, err
	}
	return parquetSource(ctx, key, info.Size, io.NewSectionReader(src, 0, info.Size))
}

// parquetSource is any Parquet file.
func parquetSource(ctx context.Context, name string, size int64, f interface {
	io.ReaderAt
	io.Seeker
}) (*source, error) {
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, 0); err != nil || !bytes.Equal(magic, []byte("PAR1")) {
		return nil, usagef("%s is no Parquet file; inspect shows tables and Parquet files, `seine page` archives", name)
	}
	r, err := openForeign(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &source{name: name, schema: r.Schema(), files: 1, bytes: size,
		each: func(_ context.Context, _ []string, use func(arrow.RecordBatch) error) error {
			return eachRecord(name, r, use)
		}}, nil
}

func eachRecord(name string, r array.RecordReader, use func(arrow.RecordBatch) error) (err error) {
	defer r.Release()
	defer func() {
		if p := recover(); p != nil { // the library trusts what it reads
			err = fmt.Errorf("%s: damaged Parquet file: %v", name, p)
		}
	}()
	for r.Next() {
		if err := use(r.RecordBatch()); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
