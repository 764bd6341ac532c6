package tasklog

import (
	"errors"
	"fmt"
	"strings"
)

// Kind says what an entry is.
type Kind string

// The kinds of entries.
const (
	KindOpen  Kind = "open"  // an attempt begins, and fences all lower ones
	KindChunk Kind = "chunk" // a chunk's objects are in the store, and count
	KindEnd   Kind = "end"   // the task is done
)

// The kinds of objects that a chunk or an end names.
const (
	WARC        = "warc"
	Pages       = "pages"
	Fetches     = "fetches"
	Links       = "links"
	Outcomes    = "outcomes"
	Robots      = "robots"
	Discoveries = "discoveries"
	Events      = "events"
)

// Entry is one object of the log.
type Entry struct {
	Kind    Kind    `json:"kind"`
	Attempt Attempt `json:"attempt"`
	Chunk   *Chunk  `json:"chunk,omitempty"` // of a KindChunk, else nil
	End     *End    `json:"end,omitempty"`   // of a KindEnd, else nil
}

// Object names an object in the store.
type Object struct {
	Kind   string `json:"kind"`           // one of the constants above
	Key    string `json:"key"`            // in the store
	Size   int64  `json:"size"`           // bytes
	Rows   int64  `json:"rows,omitempty"` // rows, or records of a WARC file
	Digest string `json:"digest"`         // SHA-256 of the content, 64 lowercase hex digits
}

// Chunk is a sealed part of a task's work: objects that belong together, and what is in them.
type Chunk struct {
	Attempt Attempt          `json:"attempt"` // who sealed it: set by the Writer
	Seq     int              `json:"seq"`     // its number within the attempt, from 0
	Objects []Object         `json:"objects"`
	Counts  map[string]int64 `json:"counts,omitempty"` // outcomes by reason, and whatever adds up
	From    int64            `json:"from,omitempty"`   // first and last exchange, Unix microseconds
	To      int64            `json:"to,omitempty"`
}

// End closes the log. It alone is what reduce reads.
type End struct {
	Chunks  []Chunk          `json:"chunks"`            // all that count, in the log's order
	Objects []Object         `json:"objects,omitempty"` // made of all chunks: events
	Counts  map[string]int64 `json:"counts,omitempty"`
}

// Validate says what about the entry cannot be, all of it.
func (e Entry) Validate() error {
	var faults []error
	if e.Attempt.IsZero() {
		faults = append(faults, errors.New("attempt is zero"))
	}
	if (e.Chunk != nil) != (e.Kind == KindChunk) || (e.End != nil) != (e.Kind == KindEnd) {
		faults = append(faults, fmt.Errorf("entry of kind %q has another kind's content", e.Kind))
	}
	switch {
	case e.Kind != KindOpen && e.Kind != KindChunk && e.Kind != KindEnd:
		faults = append(faults, fmt.Errorf("kind %q is unknown", e.Kind))
	case e.Chunk != nil:
		faults = append(faults, e.Chunk.validate())
		if e.Chunk.Attempt != e.Attempt {
			faults = append(faults, fmt.Errorf("entry of attempt %s holds a chunk of %s",
				e.Attempt, e.Chunk.Attempt))
		}
	case e.End != nil:
		faults = append(faults, e.End.validate())
	}
	return errors.Join(faults...)
}

func (c Chunk) validate() error {
	var faults []error
	if c.Seq < 0 {
		faults = append(faults, fmt.Errorf("chunk number %d is negative", c.Seq))
	}
	if c.To < c.From {
		faults = append(faults, fmt.Errorf("chunk %d ends before it begins", c.Seq))
	}
	for _, o := range c.Objects {
		faults = append(faults, o.validate())
	}
	return errors.Join(faults...)
}

func (e End) validate() error {
	var faults []error
	for _, c := range e.Chunks {
		if c.Attempt.IsZero() {
			faults = append(faults, fmt.Errorf("chunk %d has no attempt", c.Seq))
		}
		faults = append(faults, c.validate())
	}
	for _, o := range e.Objects {
		faults = append(faults, o.validate())
	}
	return errors.Join(faults...)
}

func (o Object) validate() error {
	switch {
	case o.Kind == "" || o.Key == "":
		return fmt.Errorf("object %q of kind %q lacks a name", o.Key, o.Kind)
	case o.Size < 0 || o.Rows < 0:
		return fmt.Errorf("object %s has %d bytes, %d rows", o.Key, o.Size, o.Rows)
	case len(o.Digest) != 64 || strings.Trim(o.Digest, "0123456789abcdef") != "":
		return fmt.Errorf("object %s: digest %.80q is not a SHA-256 in hex", o.Key, o.Digest)
	}
	return nil
}
