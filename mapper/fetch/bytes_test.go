package fetch

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/netip"
	"unicode/utf16"
)

// gzipped is a body as gzip codes it.
func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		panic(err) // a buffer takes all
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// utf16le is a text in UTF-16 with its mark.
func utf16le(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

// chunked is a body in chunks of the given sizes.
func chunked(parts ...string) string {
	out := ""
	for _, p := range parts {
		out += fmt.Sprintf("%x\r\n%s\r\n", len(p), p)
	}
	return out + "0\r\n\r\n"
}

func addrs(list ...string) (out []netip.Addr) {
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}
