package main

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/formats/schema"
	"seine/formats/warc"
	"seine/formats/weburl"
	"seine/reducer/task"
)

const pageLong = `Prints the body of a page from the archive, freed of its codings. --headers prints
the answer's header before it, --text the text that was extracted instead, --raw
the answer as it was transferred. --version prior is the body before the newest;
--version N that of round N.`

const pageExample = `  seine page https://example.org/ > page.html
  seine page --text https://example.org/
  seine page --headers --version prior https://example.org/`

type pageOptions struct {
	headers, text, raw bool
	version            string
}

func newPage(a *app) *cobra.Command {
	var o pageOptions
	c := &cobra.Command{
		Use: "page URL", Short: "Print a page's body", Long: pageLong, Example: pageExample,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return a.showPage(c.Context(), args[0], o) },
	}
	c.Flags().BoolVar(&o.headers, "headers", false, "print the answer's header first")
	c.Flags().BoolVar(&o.text, "text", false, "print the extracted text")
	c.Flags().BoolVar(&o.raw, "raw", false, "print the body as it was transferred")
	c.Flags().StringVar(&o.version, "version", "newest", "newest, prior, or the number of a round")
	addSnapshot(a, c)
	return c
}

func (a *app) showPage(ctx context.Context, raw string, o pageOptions) error {
	u, err := normalURL(raw)
	if err != nil {
		return err
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	page, err := l.version(ctx, u, o.version)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(object(factsOf(page)))
	}
	if o.text {
		_, err := fmt.Fprintln(a.out, page.Text)
		return err
	}
	record, err := readRecord(ctx, l.Crawl, page.BlobPath, page.BlobOffset, page.BlobLength)
	if err != nil {
		return err
	}
	if o.headers {
		if _, err := a.out.Write(record.HTTPHeader); err != nil {
			return err
		}
	}
	if o.raw {
		if record.Body == nil {
			return nil
		}
		_, err := io.Copy(a.out, io.NewSectionReader(record.Body, 0, record.Body.Size()))
		return err
	}
	_, err = io.Copy(a.out, decoded(record))
	return err
}

// version finds the stored version of a page that is asked for.
func (l *looking) version(ctx context.Context, u weburl.Normal, version string) (schema.Page, error) {
	var found []schema.Page
	round, err := strconv.ParseInt(version, 10, 64)
	switch {
	case version == "newest", version == "prior":
	case err != nil:
		return schema.Page{}, usagef("--version %q: write newest, prior or the number of a round", version)
	}
	newer := false
	err = l.pages(ctx, u, func(p *schema.Page) bool { // the newest first
		if version == "newest" || version == "prior" && newer || round != 0 && p.Round == round {
			found = append(found, task.Own(*p))
			return false
		}
		newer = true
		return true
	})
	if err != nil {
		return schema.Page{}, err
	}
	if len(found) == 0 {
		return schema.Page{}, absentf("no such version of %s is stored in snapshot %d; `seine url %s` says "+
			"what is known of it", u.URL, l.head.N, u.URL)
	}
	return found[0], nil
}

// readRecord reads one record of an archive by its place.
func readRecord(ctx context.Context, c *node.Crawl, key string, offset, length int64) (*warc.Record, error) {
	info, err := c.Store.Stat(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", key, err)
	}
	src, err := c.Store.Open(ctx, key, info.Size)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", key, err)
	}
	defer task.CloseReader(src)
	record, err := warc.ReadAt(src, offset, length)
	if err != nil {
		return nil, fmt.Errorf("archive %s at %d: %w; `seine check --read-data` names all that is damaged",
			key, offset, err)
	}
	return record, nil
}

// decoded reads a record's payload without its content codings, as far as they
// hold: a body that breaks off is printed up to there.
func decoded(record *warc.Record) io.Reader {
	body := record.Payload()
	head := record.HTTP()
	if head == nil {
		return body
	}
	var codings []string
	for _, value := range head.Header.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(strings.ToLower(value), ",") {
			codings = append(codings, strings.TrimSpace(coding))
		}
	}
	for _, coding := range slices.Backward(codings) {
		body = undo(coding, body)
	}
	return forgiving{body}
}

func undo(coding string, body io.Reader) io.Reader {
	packed, err := io.ReadAll(body)
	if err != nil && len(packed) == 0 {
		return body
	}
	whole := bytes.NewReader(packed)
	switch coding {
	case "gzip", "x-gzip":
		if z, err := gzip.NewReader(whole); err == nil {
			return z
		}
	case "deflate":
		if z, err := zlib.NewReader(whole); err == nil {
			return z
		}
		return flate.NewReader(bytes.NewReader(packed))
	case "br":
		return brotli.NewReader(whole)
	}
	return bytes.NewReader(packed) // what the server called coded was not
}

// forgiving ends where a coding breaks.
type forgiving struct{ io.Reader }

// Read implements io.Reader.
func (f forgiving) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}
