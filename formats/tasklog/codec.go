package tasklog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// MaxEntry bounds an encoded entry, in bytes. An end names every chunk of its log: about 1 KiB
// each, one in 5 s on a directory store, so an hour takes less than 1 MiB.
const MaxEntry = 16 << 20

// version is the format's. A reader refuses what it does not know: an unknown field might be
// one that says what counts.
const version = 1

// ErrCorrupt: an entry is damaged, or of a newer version. The log cannot be read past it.
var ErrCorrupt = errors.New("task log entry is corrupt")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// envelope is the stored form: the sum is the CRC-32C of the entry's bytes as they stand.
type envelope struct {
	Version int             `json:"version"`
	Sum     string          `json:"crc32c"`
	Entry   json.RawMessage `json:"entry"`
}

// Encode gives the stored form of an entry: equal entries have equal bytes.
func Encode(e Entry) ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("encode task log entry: %w", err)
	}
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode task log entry: %w", err)
	}
	data, err := json.Marshal(envelope{version, sum(body), body})
	if err != nil {
		return nil, fmt.Errorf("encode task log entry: %w", err)
	}
	if len(data) > MaxEntry {
		return nil, fmt.Errorf("encode task log entry: %d bytes are more than %d", len(data), MaxEntry)
	}
	return data, nil
}

// Decode reads the stored form of an entry; the key is for errors only, which are ErrCorrupt.
func Decode(key string, data []byte) (Entry, error) {
	if len(data) > MaxEntry {
		return Entry{}, corrupt(key, fmt.Errorf("%d bytes are more than %d", len(data), MaxEntry))
	}
	var outer envelope
	if err := decodeStrict(data, &outer); err != nil {
		return Entry{}, corrupt(key, err)
	}
	if outer.Version != version {
		return Entry{}, corrupt(key, fmt.Errorf("version is %d, not %d", outer.Version, version))
	}
	if s := sum(outer.Entry); s != outer.Sum {
		return Entry{}, corrupt(key, fmt.Errorf("checksum is %s, not %s", s, outer.Sum))
	}
	var e Entry
	if err := decodeStrict(outer.Entry, &e); err != nil {
		return Entry{}, corrupt(key, err)
	}
	if err := e.Validate(); err != nil {
		return Entry{}, corrupt(key, err)
	}
	return e, nil
}

func corrupt(key string, err error) error {
	return fmt.Errorf("decode %s: %w: %w", key, ErrCorrupt, err)
}

func sum(b []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)) }

func decodeStrict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the end")
	}
	return nil
}
