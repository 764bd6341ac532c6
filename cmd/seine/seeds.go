package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"seine/cmd/internal/node"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/schema"
	"seine/formats/weburl"
	"seine/jobs"
)

// seedFaults is how many bad lines of a file are told at once.
const seedFaults = 20

// seedLineBytes bounds a line of a seeds file.
const seedLineBytes = 256 << 10

// seedFile is the upload being made: JSON lines on scratch. Nothing of it
// reaches the store before every seed was read.
type seedFile struct {
	file   *os.File
	out    *bufio.Writer
	digest hash.Hash
	bytes  int64
	seeds  int
	terms  map[string]saidTerms // by what their descendants carry: tag or URL
}

func newSeedFile() (*seedFile, error) {
	file, err := os.CreateTemp("", "seine-seeds-*")
	if err != nil {
		return nil, fmt.Errorf("scratch file for seeds: %w; TMPDIR names another folder", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("scratch file for seeds: %w", err), file.Close())
	}
	s := &seedFile{file: file, digest: sha256.New(), terms: map[string]saidTerms{}}
	s.out = bufio.NewWriter(io.MultiWriter(file, s.digest))
	return s, nil
}

func (s *seedFile) close() { _ = s.file.Close() } // scratch

// readSeeds gathers seeds from the command line and from files; - is standard
// input.
func (a *app) readSeeds(urls, files []string) (*seedFile, error) {
	s, err := newSeedFile()
	if err != nil {
		return nil, err
	}
	for _, url := range urls {
		if err = s.add(url); err != nil {
			break
		}
	}
	for _, name := range files {
		if err == nil {
			err = a.readSeedsFile(s, name)
		}
	}
	if err == nil {
		err = s.out.Flush()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (a *app) readSeedsFile(s *seedFile, name string) error {
	var in io.Reader = a.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return usagef("seeds: %w; name a readable text file, one `URL key=value ...` a line", err)
		}
		defer f.Close()
		in = f
	}
	before := s.seeds
	if err := s.read(in, name); err != nil {
		return err
	}
	if s.seeds == before {
		return usagef("seeds: %s holds no URL; write one a line", name)
	}
	return nil
}

func (s *seedFile) read(in io.Reader, name string) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), seedLineBytes)
	var faults []error
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
			return usagef("seeds: %s, line %d is no text: seeds are a text file (unpacked, UTF-8), "+
				"one `URL key=value ...` a line; nothing was injected", name, n)
		}
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if err := s.add(text); err != nil {
			if faults = append(faults, fmt.Errorf("line %d: %w", n, err)); len(faults) == seedFaults {
				break
			}
		}
	}
	if err := lines.Err(); err != nil {
		return usagef("seeds: read %s: %w; nothing was injected", name, err)
	}
	if len(faults) > 0 {
		return usagef("seeds: %s: %w\nnothing was injected: mend or remove these lines", name,
			errors.Join(faults...))
	}
	return nil
}

// add takes one seed: a URL and its key=value pairs.
func (s *seedFile) add(text string) error {
	seed, said, err := parseSeed(text)
	if err == nil {
		err = s.say(seed, said)
	}
	if err != nil {
		return usage(err)
	}
	return s.write(seed)
}

func (s *seedFile) write(seed jobs.Seed) error {
	b, err := json.Marshal(seed)
	if err != nil {
		return fmt.Errorf("seed %s: %w", seed.URL, err)
	}
	n, err := s.out.Write(append(b, '\n'))
	if err != nil {
		return fmt.Errorf("scratch file for seeds: %w; TMPDIR names another folder", err)
	}
	s.bytes += int64(n)
	s.seeds++
	return nil
}

// parseSeed reads `URL key=value ...`. The keys priority (0 to 1), tag, interval,
// depth and scope have a meaning, others are kept as metadata.
func parseSeed(text string) (seed jobs.Seed, said saidTerms, err error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return seed, said, errors.New("an empty seed: write a URL such as https://example.org/")
	}
	normal, err := weburl.Normalize(fields[0], weburl.Options{})
	if err != nil {
		return seed, said, fmt.Errorf("seed %q: %w; write a URL such as %s", weburl.Redact(fields[0]), err,
			suggestion(fields[0]))
	}
	seed.URL, seed.Host = normal.URL, normal.Host
	seed.Raw = strings.ReplaceAll(weburl.Redact(fields[0]), "\x00", "")
	for _, pair := range fields[1:] {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return seed, said, fmt.Errorf("seed %s: %q is no key=value", seed.URL, pair)
		}
		if meant, err := said.set(key, value); err != nil {
			return seed, said, fmt.Errorf("seed %s: %w", seed.URL, err)
		} else if meant {
			continue
		}
		switch key {
		case "priority":
			p, err := strconv.ParseFloat(value, 32)
			if err != nil || !(p >= 0 && p <= 1) {
				return seed, said, fmt.Errorf("seed %s: priority %q is no number from 0 to 1", seed.URL, value)
			}
			seed.Priority = float32(p)
		case "tag":
			seed.Tag = value
		default:
			if seed.Metadata == nil {
				seed.Metadata = map[string]string{}
			}
			seed.Metadata[key] = value
		}
	}
	said.into(&seed)
	return seed, said, nil
}

// suggestion is a URL that may have been meant.
func suggestion(raw string) string {
	guess := "https://" + strings.TrimLeft(raw, "/:")
	if u, err := weburl.Normalize(guess, weburl.Options{}); err == nil && strings.Contains(u.Host, ".") &&
		!strings.Contains(raw, ":") {
		return u.URL
	}
	return "https://example.org/"
}

func (s *seedFile) key() layout.Key { return layout.Upload(hex.EncodeToString(s.digest.Sum(nil))) }

// upload puts the seeds into the store; the same seeds are the same object.
func (s *seedFile) upload(ctx context.Context, c *node.Crawl) (layout.Key, error) {
	key := s.key()
	err := c.Store.Put(ctx, key, objstore.File(s.file, s.bytes),
		objstore.PutOptions{IfAbsent: true, Same: true})
	if err != nil && !errors.Is(err, objstore.ErrExists) {
		return key, fmt.Errorf("upload seeds: %w", err)
	}
	return key, nil
}

// injected says whether a committed inject brought just these seeds, and none was
// removed since: saying again what was said changes nothing.
func injected(ctx context.Context, c *node.Crawl, head *lsm.Manifest, upload layout.Key) (bool, error) {
	for _, part := range slices.Backward(head.Parts) {
		for _, object := range slices.Backward(part.Tables[schema.Seeds]) {
			spec, err := specOf(ctx, c, object.Key)
			if err != nil {
				return false, err
			}
			if spec.Inject != nil && (spec.Inject.Upload == upload || spec.Inject.Removes) {
				return spec.Inject.Upload == upload, nil
			}
		}
	}
	return false, nil
}

// specOf is the spec of the job that wrote an object; an empty one if it is gone.
func specOf(ctx context.Context, c *node.Crawl, object layout.Key) (jobs.Spec, error) {
	job, err := layout.ParseJob(object)
	if err != nil {
		return jobs.Spec{}, err
	}
	b, err := c.Store.Get(ctx, layout.Spec(job))
	if errors.Is(err, objstore.ErrNotExist) {
		return jobs.Spec{}, nil
	}
	if err != nil {
		return jobs.Spec{}, fmt.Errorf("spec of job %d: %w", job, err)
	}
	return jobs.DecodeSpec(b)
}
