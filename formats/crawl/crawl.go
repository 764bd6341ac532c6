// Package crawl is the object that makes a store a crawl: put once when the
// crawl is created, it pins what must not change under the tables: the format,
// the rules by which URLs are normalised, and the Public Suffix List, so that an
// upgrade moves no domain to another partition. Encode and Decode only; the
// package is pure.
package crawl

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"seine/formats/weburl"
)

// Format is the version of the store's layout that this build writes and the
// newest that it reads.
const Format = 1

// ErrNewer marks a crawl that a newer build made. Nothing may be written to it.
var ErrNewer = errors.New("made by a newer seine")

// Crawl is the object layout.Crawl.
type Crawl struct {
	Format       int    `json:"format"`
	Normalizer   int    `json:"normalizer"` // weburl.NormalizerVersion
	CreatedAt    int64  `json:"created_at"` // ms since 1970 UTC
	SuffixesSHA  string `json:"public_suffix_list_sha256"`
	SuffixesText string `json:"public_suffix_list"` // its text
}

// New is a crawl made now (ms) with the text of a Public Suffix List.
func New(suffixes []byte, now int64) Crawl {
	return Crawl{Format: Format, Normalizer: weburl.NormalizerVersion, CreatedAt: now,
		SuffixesSHA: digest(suffixes), SuffixesText: string(suffixes)}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Encode writes the object.
func (c Crawl) Encode() ([]byte, error) { return json.MarshalIndent(c, "", " ") }

// Decode reads the object and checks it whole. A newer one is ErrNewer.
func Decode(b []byte) (Crawl, error) {
	var c Crawl
	if err := json.Unmarshal(b, &c); err != nil {
		return Crawl{}, fmt.Errorf("damaged crawl object: %w", err)
	}
	switch {
	case c.Format > Format:
		return Crawl{}, fmt.Errorf("crawl of format %d, this build reads up to %d: %w; use that one",
			c.Format, Format, ErrNewer)
	case c.Format < 1:
		return Crawl{}, fmt.Errorf("damaged crawl object: format %d", c.Format)
	case c.Normalizer > weburl.NormalizerVersion:
		return Crawl{}, fmt.Errorf("URLs of this crawl are normalised by rules %d, this build has %d: "+
			"%w; use that one", c.Normalizer, weburl.NormalizerVersion, ErrNewer)
	case c.Normalizer < weburl.NormalizerVersion:
		return Crawl{}, fmt.Errorf("URLs of this crawl are normalised by rules %d, this build has %d: "+
			"use the seine that made it", c.Normalizer, weburl.NormalizerVersion)
	case digest([]byte(c.SuffixesText)) != c.SuffixesSHA:
		return Crawl{}, errors.New("damaged crawl object: the public suffix list is not the one " +
			"it was made with")
	}
	return c, nil
}

// Suffixes parses the pinned Public Suffix List.
func (c Crawl) Suffixes() (*weburl.Suffixes, error) {
	s, err := weburl.ParseSuffixes([]byte(c.SuffixesText))
	if err != nil {
		return nil, fmt.Errorf("damaged crawl object: %w", err)
	}
	return s, nil
}
