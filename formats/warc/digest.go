package warc

import (
	"bytes"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"seine/formats/warc/httpmsg"
)

const digestPrefix = "sha1:"

func digestText(h hash.Hash) string {
	return digestPrefix + base32.StdEncoding.EncodeToString(h.Sum(nil))
}

// Digest returns the labelled digest of what r reads, as the field's tools write it: sha1 in base
// 32.
func Digest(r io.Reader) (string, error) {
	h := sha1.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return digestText(h), nil
}

// PayloadDigest returns the digest of an HTTP response's payload: its body without the chunked
// framing. A body that breaks off counts as far as it came.
func PayloadDigest(head *httpmsg.Head, body io.Reader) (string, error) {
	h := sha1.New()
	if err := copyPayload(h, head.Payload(body), nil); err != nil {
		return "", err
	}
	return digestText(h), nil
}

// copyPayload copies as much as framing lets through. buf may be nil.
func copyPayload(dst io.Writer, payload io.Reader, buf []byte) error {
	_, err := io.CopyBuffer(dst, payload, buf)
	if err == io.ErrUnexpectedEOF || errors.Is(err, httpmsg.ErrChunk) {
		return nil
	}
	return err
}

// digests fills in the digests that a record of its type carries, reading through buf.
func (r *Record) digests(buf []byte) error {
	if r.BlockDigest == "" {
		h := sha1.New()
		h.Write(r.HTTPHeader)
		if _, err := io.CopyBuffer(h, r.bodyReader(), buf); err != nil {
			return fmt.Errorf("digest block: %w", err)
		}
		r.BlockDigest = digestText(h)
	}
	if r.PayloadDigest != "" {
		return nil
	}
	switch r.Type {
	case TypeResponse, TypeResource:
		h := sha1.New()
		if err := copyPayload(h, r.Payload(), buf); err != nil {
			return fmt.Errorf("digest payload: %w", err)
		}
		r.PayloadDigest = digestText(h)
	}
	return nil
}

// ErrDigest means that a record's bytes are not those its digest was made from.
var ErrDigest = errors.New("digest differs")

// Verify compares the record's digests with its bytes. A digest of another kind than ours, and a
// revisit's payload digest, which is of another record, are passed over.
func (r *Record) Verify() error {
	whole := io.MultiReader(bytes.NewReader(r.HTTPHeader), r.bodyReader())
	if err := verify("block", r.BlockDigest, whole); err != nil {
		return err
	}
	if r.Type == TypeRevisit {
		return nil
	}
	return verify("payload", r.PayloadDigest, r.Payload())
}

func verify(what, want string, content io.Reader) error {
	if !strings.HasPrefix(want, digestPrefix) {
		return nil
	}
	h := sha1.New()
	if err := copyPayload(h, content, nil); err != nil {
		return fmt.Errorf("verify %s: %w", what, err)
	}
	if got := digestText(h); !strings.EqualFold(got, want) {
		return fmt.Errorf("verify %s: %s, not %s: %w", what, got, want, ErrDigest)
	}
	return nil
}
