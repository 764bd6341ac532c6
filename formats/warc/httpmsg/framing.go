package httpmsg

import (
	"slices"
	"strconv"
	"strings"
)

// Kind says what ends a body.
type Kind int

const (
	None      Kind = iota // there is none: 1xx, 204, 304
	Length                // a count of bytes
	ByChunks              // the chunked coding
	UntilEnd              // the end of the connection
	Contested             // several lengths that differ: a protocol error; N is the largest
)

// Framing is how a response's body is bounded.
type Framing struct {
	Kind Kind
	N    int64 // bytes, for Length and Contested
	// Reusable means that the connection can carry another exchange once the body has been read
	// whole: the peer did not say otherwise and nothing about the message is in doubt.
	Reusable bool
}

// Framing decides the bounds of the body as RFC 9112 §6.3 does, mended where browsers mend it:
// chunked wins over a length and over its place in the list; other transfer codings do not frame;
// lengths may be repeated, signed with +, empty or followed by NULs; one that is no number, or none
// that fits 63 bits, is as if it were not there.
func (h *Head) Framing() Framing {
	persists := h.persists()
	length, found, contested := h.contentLength()
	chunked := slices.Contains(h.Header.Tokens("Transfer-Encoding"), "chunked")
	switch {
	case h.Status < 200 && h.Status >= 100, h.Status == 204, h.Status == 304:
		// A length here is legal for 304, but some servers then send that body.
		doubt := chunked || contested || (found && length > 0)
		return Framing{Kind: None, Reusable: persists && !doubt}
	case chunked:
		return Framing{Kind: ByChunks, Reusable: persists && !contested}
	case contested:
		return Framing{Kind: Contested, N: length}
	case found:
		return Framing{Kind: Length, N: length, Reusable: persists}
	}
	return Framing{Kind: UntilEnd}
}

// persists reports whether the peer keeps the connection after this message.
func (h *Head) persists() bool {
	options := h.Header.Tokens("Connection")
	switch {
	case slices.Contains(options, "close"):
		return false
	case h.Proto == ProtoICY, !strings.HasPrefix(h.Proto, "HTTP/1."), h.Status == 101:
		return false
	case h.Proto == "HTTP/1.0":
		return slices.Contains(options, "keep-alive")
	}
	return true
}

// contentLength joins all Content-Length fields. Of several that differ it returns the largest.
func (h *Head) contentLength() (n int64, found, contested bool) {
	for _, v := range h.Header.Values("Content-Length") {
		for e := range strings.SplitSeq(v, ",") {
			e = strings.TrimPrefix(trim(e), "+")
			if e == "" {
				continue
			}
			m, err := strconv.ParseUint(e, 10, 63)
			if err != nil {
				return 0, false, false
			}
			length := int64(m)
			contested = contested || (found && length != n)
			found, n = true, max(n, length)
		}
	}
	return n, found, contested
}
