package inject

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/task"
)

// MaxLine is the longest line of an upload in bytes: a URL of the longest kind,
// its raw form and metadata.
const MaxLine = 1 << 20

// line is a seed with its place: its partition and the number of its line.
type line struct {
	Partition int32             `parquet:"partition"`
	Domain    string            `parquet:"domain,delta"`
	Host      string            `parquet:"host,delta"`
	URL       string            `parquet:"url,delta"`
	Number    int64             `parquet:"number"`
	Raw       string            `parquet:"raw"`
	Priority  float32           `parquet:"priority"`
	Tag       string            `parquet:"tag,optional,dict"`
	Interval  int64             `parquet:"interval"`
	Depth     int32             `parquet:"depth"`
	Scope     string            `parquet:"scope,optional,dict"`
	Removed   bool              `parquet:"removed"`
	Metadata  map[string]string `parquet:"metadata"`
}

func (l *line) key() lsm.Key {
	return lsm.Key{Partition: uint16(l.Partition), Domain: l.Domain, Host: l.Host, URL: l.URL}
}

func (l *line) bytes() int {
	n := 256 + len(l.Domain) + len(l.Host) + len(l.URL) + len(l.Raw) + len(l.Tag)
	for k, v := range l.Metadata {
		n += 64 + len(k) + len(v)
	}
	return n
}

func compareLines(a, b *line) int {
	return cmp.Or(a.key().Compare(b.key()), cmp.Compare(a.Number, b.Number))
}

// readLines sorts the seeds of r in an upload.
func readLines(ctx context.Context, e task.Env, key layout.Key, r layout.Range,
	into *task.Sorter[line]) error {
	info, err := e.Store.Stat(ctx, key)
	if err != nil {
		return fmt.Errorf("seeds %s: %w", key, err)
	}
	src := io.NewSectionReader(objstore.Open(ctx, e.Store, key, info.Size), 0, info.Size)
	lines := bufio.NewReaderSize(src, MaxLine)
	for number := int64(1); ; number++ {
		text, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("seeds %s, line %d: longer than %d bytes", key, number, MaxLine)
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("seeds %s, line %d: %w", key, number, err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			l, err := parseLine(text, number, e.Suffixes)
			if err != nil {
				return fmt.Errorf("seeds %s, line %d: %w", key, number, err)
			}
			if r.Holds(uint16(l.Partition)) {
				if err := into.Add(l); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// parseLine reads a line. Host and domain are those of the URL by the crawl's
// own suffix list, whatever the line says of them.
func parseLine(text []byte, number int64, suffixes *weburl.Suffixes) (line, error) {
	var seed jobs.Seed
	if err := json.Unmarshal(text, &seed); err != nil {
		return line{}, fmt.Errorf("no seed: %w", err)
	}
	normal, err := weburl.Normalize(seed.URL, weburl.Options{})
	if err != nil {
		return line{}, fmt.Errorf("URL %.200q: %w", seed.URL, err)
	}
	if normal.URL != seed.URL {
		return line{}, fmt.Errorf("URL %.200q is not in normal form, which is %.200q", seed.URL,
			normal.URL)
	}
	if !(seed.Priority >= 0 && seed.Priority <= 1) {
		return line{}, fmt.Errorf("priority %v of %.200q: write a number from 0 to 1",
			seed.Priority, seed.URL)
	}
	terms := settings.Terms{Interval: settings.Duration(seed.Interval) * 1e6, Depth: seed.Depth,
		Scope: seed.Scope}
	if err := terms.Validate(); err != nil {
		return line{}, fmt.Errorf("seed %.200q: %w", seed.URL, err)
	}
	domain := suffixes.Domain(normal.Host)
	return line{Partition: int32(weburl.Partition(domain)), Domain: domain,
		Host: strings.Clone(normal.Host), URL: seed.URL, Number: number, Raw: seed.Raw,
		Priority: seed.Priority, Tag: seed.Tag, Interval: seed.Interval, Depth: int32(seed.Depth),
		Scope: seed.Scope, Removed: seed.Removed, Metadata: seed.Metadata}, nil
}
