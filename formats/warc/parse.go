package warc

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrCorrupt means that the bytes at hand are no whole WARC record.
var ErrCorrupt = errors.New("corrupt WARC record")

// places are where a Record keeps a named field, lower-case, when that is one text.
var places = map[string]func(r *Record) *string{
	"warc-record-id":               func(r *Record) *string { return &r.ID },
	"warc-target-uri":              func(r *Record) *string { return &r.TargetURI },
	"warc-refers-to":               func(r *Record) *string { return &r.RefersTo },
	"warc-refers-to-target-uri":    func(r *Record) *string { return &r.RefersToTargetURI },
	"warc-profile":                 func(r *Record) *string { return &r.Profile },
	"warc-warcinfo-id":             func(r *Record) *string { return &r.WarcinfoID },
	"warc-filename":                func(r *Record) *string { return &r.Filename },
	"warc-ip-address":              func(r *Record) *string { return &r.IP },
	"warc-truncated":               func(r *Record) *string { return &r.Truncated },
	"warc-identified-payload-type": func(r *Record) *string { return &r.IdentifiedPayloadType },
	"warc-payload-digest":          func(r *Record) *string { return &r.PayloadDigest },
	"warc-block-digest":            func(r *Record) *string { return &r.BlockDigest },
	"content-type":                 func(r *Record) *string { return &r.ContentType },
}

// Named fields that are more than one text.
const (
	fieldType         = "warc-type"
	fieldDate         = "warc-date"
	fieldConcurrentTo = "warc-concurrent-to"
	fieldRefersToDate = "warc-refers-to-date"
	fieldLength       = "content-length"
)

// known reports whether a field's name is not free for Record.Extra.
func known(name string) bool {
	switch name = strings.ToLower(name); name {
	case fieldType, fieldDate, fieldConcurrentTo, fieldRefersToDate, fieldLength:
		return true
	}
	return places[name] != nil
}

// set gives a named field its place.
func (r *Record) set(name, value string) error {
	switch key := strings.ToLower(name); key {
	case fieldType:
		r.Type = Type(strings.ToLower(value))
	case fieldDate:
		return setDate(&r.Date, value)
	case fieldRefersToDate:
		return setDate(&r.RefersToDate, value)
	case fieldConcurrentTo:
		r.ConcurrentTo = append(r.ConcurrentTo, unbracketed(value))
	default:
		if place := places[key]; place != nil {
			*place(r) = unbracketed(value)
			return nil
		}
		r.Extra = append(r.Extra, [2]string{name, value})
	}
	return nil
}

// unbracketed takes the <> off; WARC 1.0 had them around URIs too.
func unbracketed(v string) string {
	if strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">") {
		return v[1 : len(v)-1]
	}
	return v
}

// dateLayouts are the lengths to which WARC 1.1 lets a date be cut.
var dateLayouts = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04Z", "2006-01-02", "2006-01", "2006",
}

func setDate(dst *time.Time, v string) error {
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, v); err == nil {
			*dst = t.UTC()
			return nil
		}
	}
	return fmt.Errorf("date %.40q: %w", v, ErrCorrupt)
}

// parseHeader reads a record's version line and named fields, and the length of its block.
func parseHeader(raw []byte) (*Record, int64, error) {
	version, rest, _ := bytes.Cut(raw, []byte("\n"))
	if !bytes.HasPrefix(version, []byte("WARC/")) {
		return nil, 0, fmt.Errorf("version line %.40q: %w", version, ErrCorrupt)
	}
	rec, length := &Record{}, int64(-1)
	for _, f := range fields(rest) {
		if strings.EqualFold(f[0], fieldLength) {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil || n < 0 || length >= 0 && n != length {
				return nil, 0, fmt.Errorf("content length %.40q: %w", f[1], ErrCorrupt)
			}
			length = n
			continue
		}
		if err := rec.set(f[0], f[1]); err != nil {
			return nil, 0, err
		}
	}
	if length < 0 || rec.Type == "" {
		return nil, 0, fmt.Errorf("no length or no type: %w", ErrCorrupt)
	}
	return rec, length, nil
}

// fields splits a header block into names and values, joining folded lines.
func fields(block []byte) (fs [][2]string) {
	for line := range strings.SplitSeq(string(block), "\n") {
		line = strings.TrimRight(line, "\r")
		if line == "" {
			break
		}
		if (line[0] == ' ' || line[0] == '\t') && len(fs) > 0 {
			fs[len(fs)-1][1] += " " + strings.Trim(line, " \t")
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if name = strings.Trim(name, " \t"); ok && name != "" {
			fs = append(fs, [2]string{name, strings.Trim(value, " \t")})
		}
	}
	return fs
}

// isHTTP reports whether the block is an HTTP message.
func (r *Record) isHTTP() bool {
	switch r.Type {
	case TypeRequest, TypeResponse, TypeRevisit:
		return r.ContentType == "" ||
			strings.HasPrefix(strings.ToLower(r.ContentType), "application/http")
	}
	return false
}
