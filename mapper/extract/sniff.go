package extract

import (
	"bytes"
	"net/http"
	"strings"

	"golang.org/x/net/html/charset"
)

// The media types that Extract reads.
const (
	typeHTML  = "text/html"
	typeXHTML = "application/xhtml+xml"
	typeXML   = "application/xml"
	typeRSS   = "application/rss+xml"
	typeAtom  = "application/atom+xml"
	typeText  = "text/plain"
	typeOctet = "application/octet-stream"
)

// essence is the type/subtype of a Content-Type header in lower case, empty when malformed. Of
// several, joined by commas, the last that is one counts (Fetch standard, "extract a MIME type").
func essence(contentType string) (last string) {
	for s := range strings.SplitSeq(contentType, ",") {
		s, _, _ = strings.Cut(s, ";")
		s = strings.ToLower(strings.Trim(s, asciiSpace))
		typ, sub, ok := strings.Cut(s, "/")
		if ok && isToken(typ) && isToken(sub) && s != "*/*" && len(s) <= 127 {
			last = s
		}
	}
	return last
}

func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// DetectMIME says what a body is, in the spirit of the WHATWG MIME Sniffing standard: signatures
// of binary formats beat any declaration, feeds and XML are known by their root element, HTML is
// never made out of text/plain, and a declaration that the bytes do not contradict stands.
// contentType is the header. The result is a bare type/subtype.
func DetectMIME(contentType string, body []byte) string {
	declared := essence(contentType)
	head := sniffPrefix(body)
	if len(bytes.TrimLeft(head, asciiSpace)) == 0 {
		if saysNothing(declared) {
			return typeText
		}
		return declared
	}
	sig := essence(http.DetectContentType(head))
	_, bom := byteOrderMark(body)
	binary := bom == 0 && hasBinary(head)
	if isSignature(sig, binary) {
		return sig
	}
	switch {
	case saysNothing(declared), !isTextual(declared):
		switch sig {
		case typeHTML:
			return byRoot(head, typeHTML)
		case "text/xml":
			return xmlType(head, typeXML, sig)
		}
		if root := byRoot(head, ""); root != "" {
			return root
		}
		if saysNothing(declared) {
			return textOrBinary(binary)
		}
	case declared == typeHTML:
		return byRoot(head, typeHTML)
	case isXML(declared):
		return xmlType(head, declared, sig)
	case binary:
		return typeOctet
	}
	return declared
}

func textOrBinary(binary bool) string {
	if binary {
		return typeOctet
	}
	return typeText
}

// sniffPrefix is the beginning of the body without byte order mark, in UTF-8 if it was UTF-16.
func sniffPrefix(body []byte) []byte {
	name, n := byteOrderMark(body)
	head := body[n:min(len(body), 16<<10)]
	if n == 2 {
		enc, _ := charset.Lookup(name)
		if out, err := enc.NewDecoder().Bytes(head); err == nil {
			return out
		}
	}
	return head
}

func saysNothing(declared string) bool {
	switch declared {
	case "", "*/*", "unknown/unknown", "application/unknown", typeOctet, "binary/octet-stream",
		"application/force-download", "application/x-download":
		return true
	}
	return false
}

func isXML(t string) bool {
	return t == typeXML || t == "text/xml" || strings.HasSuffix(t, "+xml") || t == "text/rss"
}

func isTextual(t string) bool {
	return strings.HasPrefix(t, "text/") || isXML(t) || strings.HasSuffix(t, "+json") ||
		t == "application/json" || t == "application/javascript" || t == "application/x-javascript" ||
		t == "application/ecmascript" || t == "application/ld+json"
}

// isSignature reports whether a type that http.DetectContentType found rests on a signature.
// Some signatures are plain letters ("BM", "ID3"): they count only in front of binary bytes.
func isSignature(sig string, binary bool) bool {
	switch sig {
	case "application/pdf", "application/postscript":
		return true
	case typeOctet:
		return false
	}
	return binary && !strings.HasPrefix(sig, "text/")
}

// hasBinary looks for the standard's "binary data bytes" where it looks for them.
func hasBinary(head []byte) bool {
	for _, c := range head[:min(len(head), 1445)] {
		switch {
		case c <= 0x08, c == 0x0b, c >= 0x0e && c <= 0x1a, c >= 0x1c && c <= 0x1f:
			return true
		}
	}
	return false
}

// byRoot names the type by the root element where that is not HTML's; else other.
func byRoot(head []byte, other string) string {
	name, tag := rootElement(head)
	switch name {
	case "rss":
		return typeRSS
	case "feed":
		return typeAtom
	case "rdf":
		if bytes.Contains(head, []byte("purl.org/rss/1.0")) {
			return typeRSS
		}
		return "application/rdf+xml"
	case "urlset", "sitemapindex", "opensearchdescription", "opml":
		return typeXML
	case "html":
		xhtml := bytes.Contains(tag, []byte("http://www.w3.org/1999/xhtml"))
		if other == "" && xhtml && bytes.HasPrefix(head, []byte("<?xml")) {
			return typeXHTML
		}
		return typeHTML
	}
	return other
}

// xmlType is for bodies declared as XML of some kind.
func xmlType(head []byte, declared, sig string) string {
	name, _ := rootElement(head)
	switch name {
	case "html":
		if declared == typeXHTML || sig == "text/xml" || isXML(declared) &&
			bytes.Contains(head, []byte("http://www.w3.org/1999/xhtml")) {
			return typeXHTML
		}
		return typeHTML
	case "svg":
		return "image/svg+xml"
	}
	if t := byRoot(head, ""); t != "" {
		return t
	}
	switch {
	case sig == typeHTML && declared != typeXHTML:
		return typeHTML
	case declared == "text/xml", declared == "text/rss":
		return typeXML
	}
	return declared
}

// rootElement returns the name of the first tag, lower case and without prefix, and the tag.
func rootElement(b []byte) (name string, tag []byte) {
	for {
		b = bytes.TrimLeft(b, asciiSpace)
		var end string
		switch {
		case bytes.HasPrefix(b, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(b, []byte("<?")), bytes.HasPrefix(b, []byte("<!")):
			end = ">"
		case bytes.HasPrefix(b, []byte("<")):
			return tagName(b)
		default:
			return "", nil
		}
		i := bytes.Index(b, []byte(end))
		if i < 0 {
			return "", nil
		}
		b = b[i+len(end):]
	}
}

func tagName(b []byte) (name string, tag []byte) {
	if i := bytes.IndexByte(b, '>'); i >= 0 {
		b = b[:i]
	}
	n := b[1:]
	if i := bytes.IndexAny(n, "/"+asciiSpace); i >= 0 {
		n = n[:i]
	}
	if i := bytes.LastIndexByte(n, ':'); i >= 0 {
		n = n[i+1:]
	}
	return strings.ToLower(string(n[:min(len(n), 64)])), b
}
