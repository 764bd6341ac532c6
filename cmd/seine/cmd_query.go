package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// queryCache is how much of a bucket is kept on this machine for DuckDB, unless a
// person says otherwise.
const queryCache = "20GiB"

const queryLong = `Runs SQL on a snapshot with DuckDB, which is built in. The tables are views (SHOW
TABLES lists them, DESCRIBE urls shows columns), so the database is read-only by its
nature; a running crawl is neither waited for nor disturbed. The SQL is an argument,
a file (--file), or standard input; of several statements the last one's rows are
printed.

--questions lists ready-made questions, --question NAME answers one; what it needs to
know is set with --set NAME=VALUE.

Of a crawl in a bucket the objects that the statement's tables consist of are copied to
this machine, up to --cache, and kept there for the next one; where DuckDB's httpfs
extension is installed, they are read in place instead. Nothing is ever installed.

A build without cgo has no DuckDB: then ` + "`seine catalog`" + ` gives the views to a DuckDB of
your own, and ` + "`seine inspect`" + ` shows rows without any.`

const queryExample = `  seine query 'SELECT domain, count(*) FROM urls GROUP BY 1 ORDER BY 2 DESC LIMIT 10'
  seine query --question why_not_fetched --set url=https://example.org/a
  seine query --format parquet -o pages.parquet 'SELECT url, title FROM pages'
  seine query --file report.sql --format csv`

// query is what to ask, and how to answer.
type query struct {
	before    []string // statements that set what the SQL needs
	sql       string
	file      string
	question  string
	set       []string
	format    string
	output    string
	threads   int
	memory    string
	cache     string
	questions bool
}

var queryFormats = []string{"table", "csv", "json", "arrow", "parquet"}

func newQuery(a *app) *cobra.Command {
	var q query
	c := &cobra.Command{
		Use: "query [SQL]", Short: "Ask in SQL, with DuckDB", Long: queryLong, Example: queryExample,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if q.questions {
				return a.listQuestions()
			}
			if err := q.read(args, c.InOrStdin()); err != nil {
				return err
			}
			if a.json && q.format == "table" {
				q.format = "json"
			}
			return a.query(c.Context(), q)
		},
	}
	f := c.Flags()
	f.StringVarP(&q.file, "file", "f", "", "read the SQL from this file (-: standard input)")
	f.StringVar(&q.question, "question", "", "answer this ready-made question")
	f.StringArrayVar(&q.set, "set", nil, "what a question needs to know, as NAME=VALUE")
	f.BoolVar(&q.questions, "questions", false, "list the ready-made questions")
	f.StringVar(&q.format, "format", "table", "how to print rows: "+strings.Join(queryFormats, ", "))
	f.StringVarP(&q.output, "output", "o", "", "write to this file")
	f.IntVar(&q.threads, "threads", 0, "threads of DuckDB (default: all cores)")
	f.StringVar(&q.cache, "cache", queryCache, "how much of a bucket may be kept on this machine")
	f.StringVar(&q.memory, "memory", "", "memory of DuckDB, such as 2GB (default: 80% of RAM)")
	addSnapshot(a, c)
	return c
}

// read finds the SQL in what the command line names.
func (q *query) read(args []string, stdin io.Reader) error {
	if !slices.Contains(queryFormats, q.format) {
		return usagef("--format %s is unknown; it is one of %s", q.format, strings.Join(queryFormats, ", "))
	}
	given := 0
	for _, is := range []bool{len(args) > 0, q.file != "", q.question != ""} {
		if is {
			given++
		}
	}
	if given > 1 {
		return usagef("the SQL comes from an argument, --file or --question; name one of them")
	}
	var body []byte
	var err error
	switch {
	case len(args) > 0:
		q.sql = args[0]
	case q.question != "":
		q.before, q.sql, err = question(q.question, q.set)
		return err
	case q.file != "" && q.file != "-":
		body, err = os.ReadFile(q.file)
		q.sql = string(body)
	default:
		body, err = io.ReadAll(stdin)
		q.sql = string(body)
	}
	if err != nil {
		return usagef("read the SQL: %w", err)
	}
	if strings.TrimSpace(q.sql) == "" {
		return usagef("there is no SQL; give it as an argument, with --file, or choose from --questions")
	}
	return nil
}

// query answers. What goes to a file is written beside it first, so that a file
// that is there is whole.
func (a *app) query(ctx context.Context, q query) error {
	if q.format == "parquet" && q.output == "" {
		return usagef("a Parquet file cannot be printed; name one with -o FILE")
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	if q.output == "" {
		return a.runQuery(ctx, l, q, a.out, "")
	}
	file, err := os.CreateTemp(folderOf(q.output), ".seine-query-*")
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	err = errors.Join(a.runQuery(ctx, l, q, file, file.Name()), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), q.output)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(file.Name())))
	}
	return os.Chmod(q.output, 0o644)
}

func folderOf(path string) string {
	if i := strings.LastIndexByte(path, os.PathSeparator); i >= 0 {
		return path[:i+1]
	}
	return "."
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
