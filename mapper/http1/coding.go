package http1

import (
	"bufio"
	"bytes"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// layers are the decoders of one body. Each first looks whether its coding is there at all: a
// server that says gzip and sends text is believed about the text.
type layers struct {
	client *Client
	outer  *layer // the one that reads the payload itself
	gzips  []*gzip.Reader
	brotli bool
}

// A layer is one decoder. end is set when the coded data ended by its own mark.
type layer struct {
	src *bufio.Reader
	dec io.Reader
	end bool
}

// push puts a decoder on src.
func (s *layers) push(coding string, src io.Reader) io.Reader {
	l := &layer{src: bufio.NewReader(src)}
	switch coding {
	case "gzip":
		s.gzip(l)
	case "deflate":
		l.inflate()
	case "br":
		s.brotliOn(l)
	}
	if l.dec == nil {
		return l.src
	}
	if s.outer == nil {
		s.outer = l
	}
	return l
}

// ended reports whether the outermost coding ran to its own end, so that nothing can be missing.
func (s *layers) ended() bool { return s.outer != nil && s.outer.end }

func (s *layers) release() {
	for _, g := range s.gzips {
		s.client.inflate.Put(g)
	}
	if s.brotli {
		s.client.brotli.Unlock()
	}
}

func (l *layer) Read(p []byte) (int, error) {
	n, err := l.dec.Read(p)
	if err == io.EOF {
		l.end = true
	}
	return n, err
}

func (s *layers) gzip(l *layer) {
	if !isGzip(l.src) {
		return
	}
	g, _ := s.client.inflate.Get().(*gzip.Reader)
	if g == nil {
		g = new(gzip.Reader)
	}
	s.gzips = append(s.gzips, g)
	l.dec = &members{src: l.src, gz: g}
}

func isGzip(src *bufio.Reader) bool {
	magic, _ := src.Peek(2)
	return len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b
}

// members reads gzip members one after the other. What follows the last and is none is ignored.
type members struct {
	src  *bufio.Reader
	gz   *gzip.Reader
	open bool
	err  error
}

func (m *members) Read(p []byte) (int, error) {
	for m.err == nil {
		if !m.open {
			if m.err = m.gz.Reset(m.src); m.err != nil {
				break
			}
			m.gz.Multistream(false)
			m.open = true
		}
		n, err := m.gz.Read(p)
		switch {
		case err == io.EOF && isGzip(m.src):
			m.open = false
		case err != nil:
			m.err = err
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, m.err
}

// inflate takes zlib, which the standard means by deflate, and bare deflate, which servers send.
func (l *layer) inflate() {
	b, _ := l.src.Peek(probeSize)
	if len(b) >= 2 && b[0]&0x0f == 8 && b[1]&0x20 == 0 && (int(b[0])<<8|int(b[1]))%31 == 0 {
		if z, err := zlib.NewReader(l.src); err == nil {
			l.dec = z
		}
		return
	}
	if decodes(flate.NewReader(bytes.NewReader(b))) {
		l.dec = flate.NewReader(l.src)
	}
}

// brotliOn decodes br, which is not asked for. A window may take 16 MiB, so that the client decodes
// one such body at a time.
func (s *layers) brotliOn(l *layer) {
	if !s.brotli {
		s.client.brotli.Lock()
		s.brotli = true
	}
	b, _ := l.src.Peek(probeSize)
	if decodes(brotli.NewReader(bytes.NewReader(b))) {
		l.dec = brotli.NewReader(l.src)
	}
}

const (
	probeSize = 4 << 10
	probeOut  = 64 << 10
)

// decodes tries a decoder on the start of a body, for codings without a mark to know them by.
func decodes(probe io.Reader) bool {
	n, err := io.CopyN(io.Discard, probe, probeOut)
	return err == nil || err == io.EOF && n > 0 || err == io.ErrUnexpectedEOF
}
