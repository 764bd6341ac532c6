package warc

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"seine/formats/warc/httpmsg"
)

// Type is what a record holds.
type Type string

// The types that this package writes; others are read as they are.
const (
	TypeInfo     Type = "warcinfo"
	TypeRequest  Type = "request"
	TypeResponse Type = "response"
	TypeResource Type = "resource"
	TypeRevisit  Type = "revisit"
	TypeMetadata Type = "metadata"
)

// Profiles of a revisit record (WARC 1.1, §6.7).
const (
	ProfileNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
	ProfileSamePayload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
)

// Content types of blocks.
const (
	ContentRequest  = "application/http;msgtype=request"
	ContentResponse = "application/http;msgtype=response"
	ContentFields   = "application/warc-fields"
)

// Content is bytes that can be read more than once: *bytes.Reader, *io.SectionReader, a spooled
// body.
type Content interface {
	io.ReaderAt
	Size() int64
}

// A Record is one entry of an archive. Empty fields are not written; Write fills in ID, ContentType
// and digests where they are empty.
type Record struct {
	Type                  Type
	ID                    string    // urn:uuid:…, as [RecordID] makes it
	Date                  time.Time // of the capture; kept to the microsecond, in UTC
	TargetURI             string
	ConcurrentTo          []string // IDs of records of the same exchange
	RefersTo              string   // ID of the record that a revisit repeats
	RefersToTargetURI     string
	RefersToDate          time.Time
	Profile               string // of a revisit
	WarcinfoID            string // empty: that of the file's warcinfo record
	Filename              string // of a warcinfo record
	IP                    string // address of the server, without port
	PayloadDigest         string // sha1:BASE32, of the payload (for a revisit: the original's)
	BlockDigest           string // sha1:BASE32, of the whole block
	Truncated             string // length, time, disconnect, unspecified
	IdentifiedPayloadType string
	ContentType           string
	Extra                 [][2]string // further named fields

	// The block is HTTPHeader and then Body. HTTPHeader ends with an empty line and is there for
	// HTTP messages only; Body is then as it was transferred. Nil is empty.
	HTTPHeader []byte
	Body       Content
}

// RecordID makes an identifier from what sets a record apart, the same from the same: an RFC 9562
// UUID of version 5 over the parts.
func RecordID(parts ...string) string {
	h := sha1.New()
	h.Write(idSpace[:])
	for _, part := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		io.WriteString(h, part)
	}
	u := h.Sum(nil)[:16]
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// idSpace is the name space of our identifiers, itself a random UUID.
var idSpace = [16]byte{
	0x0b, 0x5e, 0x66, 0x9c, 0x2d, 0x41, 0x4b, 0x0a, 0x9d, 0x55, 0x60, 0x1b, 0x7c, 0x3f, 0xd2, 0x8e,
}

// blockSize is the length of the record's block in bytes.
func (r *Record) blockSize() int64 { return int64(len(r.HTTPHeader)) + sizeOf(r.Body) }

func sizeOf(c Content) int64 {
	if c == nil {
		return 0
	}
	return c.Size()
}

// bodyReader reads Body from its start.
func (r *Record) bodyReader() io.Reader {
	if r.Body == nil {
		return bytes.NewReader(nil)
	}
	return io.NewSectionReader(r.Body, 0, r.Body.Size())
}

// HTTP parses the header of a response or revisit record.
func (r *Record) HTTP() *httpmsg.Head {
	head, _, err := httpmsg.Split(bytes.NewReader(r.HTTPHeader))
	if err != nil { // a header that never ends says what it says
		return httpmsg.ParseHead(r.HTTPHeader)
	}
	return head
}

// Payload reads what the record is about: of a response the body without its chunked framing, still
// under its content codings; of other records the block.
func (r *Record) Payload() io.Reader {
	if r.Type != TypeResponse || !r.isHTTP() {
		return r.bodyReader()
	}
	return r.HTTP().Payload(r.bodyReader())
}
