package robotstxt

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxBytes is how much of a robots.txt is read: the 500 KiB that RFC 9309 (2.5) demands at least
// and Google reads at most. Whoever downloads the file keeps one byte more, so that Parse can tell
// a file that was cut from one that ends there.
const MaxBytes = 500 << 10

// File is a parsed robots.txt. The zero File has no rules and allows everything.
type File struct {
	blocks   []block
	sitemaps []string
}

// block is a group as it stands in the file: consecutive user-agent lines, then rules.
type block struct {
	agents []string // product tokens, lower case; "*" for everyone
	rules  []line
	delays []delay
}

// line is one allow or disallow line.
type line struct {
	text   string // as written, without comment and outer space
	value  string // the pattern as written
	number int    // 1-based
	allow  bool
}

// delay is a Crawl-delay line; it speaks to the first `agents` agents of its block. Files like
//
//	User-agent: bingbot
//	Crawl-delay: 30
//	User-agent: *
//	Disallow: /tmp/
//
// are common: one group to RFC 9309, but the 30 was never meant for everyone.
type delay struct {
	agents int
	value  string
}

// Parse reads a robots.txt. It never fails: what it does not understand, it ignores. UTF-16 with a
// byte order mark is converted; a UTF-8 mark and NUL bytes are dropped; lines end with LF, CR or
// CRLF. The File does not refer to body.
func Parse(body []byte) *File {
	text := decode(body)
	p := parser{file: &File{}}
	for number := 1; text != ""; number++ {
		end := strings.IndexAny(text, "\r\n")
		if end < 0 {
			p.line(text, number)
			break
		}
		p.line(text[:end], number)
		if strings.HasPrefix(text[end:], "\r\n") {
			end++
		}
		text = text[end+1:]
	}
	return p.file
}

// Text is what is kept of a body: the same rules in UTF-8, without what Parse does not read. Bytes
// that are no UTF-8 are percent-encoded, as they are in URLs, so that a rule in an old charset still
// means the same bytes.
func Text(body []byte) []byte {
	text := decode(body)
	if utf8.ValidString(text) {
		return []byte(text)
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			out = append(out, '%', upperHex[text[0]>>4], upperHex[text[0]&15])
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

// decode cuts the body at MaxBytes, at the end of a line, and makes it text.
func decode(body []byte) string {
	cut := len(body) > MaxBytes
	if cut {
		body = body[:MaxBytes]
	}
	text := ""
	switch {
	case bytes.HasPrefix(body, []byte{0xFF, 0xFE}):
		text = decodeUTF16(body[2:], binary.LittleEndian)
	case bytes.HasPrefix(body, []byte{0xFE, 0xFF}):
		text = decodeUTF16(body[2:], binary.BigEndian)
	default:
		text = string(bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF")))
	}
	if cut {
		text = text[:strings.LastIndexAny(text, "\r\n")+1]
	}
	if strings.IndexByte(text, 0) >= 0 {
		// NULs carry no meaning in any text; UTF-16 without a mark becomes readable too.
		text = strings.ReplaceAll(text, "\x00", "")
	}
	return text
}

func decodeUTF16(body []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = order.Uint16(body[2*i:])
	}
	return string(utf16.Decode(units))
}

// parser collects blocks. A rule ends the list of agents: the next user-agent line then opens a
// new block. Lines of other kinds, blank ones too, end nothing (RFC 9309, 2.2.1 and 2.2.4).
type parser struct {
	file  *File
	ruled bool // the last block has had a rule
}

func (p *parser) line(text string, number int) {
	if comment := strings.IndexByte(text, '#'); comment >= 0 {
		text = text[:comment]
	}
	text = trim(text)
	key, value, ok := split(text)
	if !ok {
		return
	}
	switch kind := keyOf(key); kind {
	case keyAgent:
		p.agent(value)
	case keyAllow, keyDisallow:
		if b := p.block(); b != nil {
			p.ruled = true
			if value != "" { // an empty pattern matches nothing
				b.rules = append(b.rules, line{text, value, number, kind == keyAllow})
			}
		}
	case keyDelay:
		if b := p.block(); b != nil {
			b.delays = append(b.delays, delay{len(b.agents), value})
		}
	case keySitemap:
		if value != "" {
			p.file.sitemaps = append(p.file.sitemaps, value)
		}
	}
}

// block is the block that lines belong to now; nil before the first user-agent line.
func (p *parser) block() *block {
	if len(p.file.blocks) == 0 {
		return nil
	}
	return &p.file.blocks[len(p.file.blocks)-1]
}

func (p *parser) agent(value string) {
	if len(p.file.blocks) == 0 || p.ruled {
		p.file.blocks = append(p.file.blocks, block{})
		p.ruled = false
	}
	b := p.block()
	if value == "*" || len(value) > 1 && value[0] == '*' && isSpace(value[1]) {
		b.agents = append(b.agents, "*")
		return
	}
	// A value without a token names nobody, but it takes its place: its rules are not ours.
	b.agents = append(b.agents, ProductToken(value))
}

// ProductToken is the name in "Name/1.2 (comment)", lower case. RFC 9309 allows letters, '_' and
// '-'; digits and dots are taken too, so that "bot2" is not "bot".
func ProductToken(value string) string {
	end := strings.IndexFunc(value, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			r == '_' || r == '-' || r == '.')
	})
	if end >= 0 {
		value = value[:end]
	}
	return strings.ToLower(value)
}

// split cuts a line into key and value at its colon. Without a colon, white space will do if the
// line has exactly two words, as in Google's parser.
func split(text string) (key, value string, ok bool) {
	if key, value, ok = strings.Cut(text, ":"); ok {
		key, value = trim(key), trim(value)
		return key, value, key != ""
	}
	gap := strings.IndexAny(text, " \t")
	if gap < 0 {
		return "", "", false
	}
	key, value = text[:gap], trim(text[gap:])
	return key, value, !strings.ContainsAny(value, " \t")
}

type key uint8

const (
	keyOther key = iota
	keyAgent
	keyAllow
	keyDisallow
	keyDelay
	keySitemap
)

// keys are the beginnings by which a key is known, in lower case: Google's parser goes by the
// beginning, and takes these misspellings.
var keys = []struct {
	prefix string
	key    key
}{
	{"user-agent", keyAgent}, {"useragent", keyAgent}, {"user agent", keyAgent},
	{"user_agent", keyAgent},
	{"allow", keyAllow},
	{"disallow", keyDisallow}, {"dissallow", keyDisallow}, {"dissalow", keyDisallow},
	{"disalow", keyDisallow}, {"diasllow", keyDisallow}, {"disallaw", keyDisallow},
	{"crawl-delay", keyDelay}, {"crawldelay", keyDelay}, {"crawl delay", keyDelay},
	{"crawl_delay", keyDelay},
	{"sitemap", keySitemap}, {"site-map", keySitemap}, {"site map", keySitemap},
}

func keyOf(name string) key {
	for _, k := range keys {
		if len(name) >= len(k.prefix) && strings.EqualFold(name[:len(k.prefix)], k.prefix) {
			return k.key
		}
	}
	return keyOther
}

func trim(s string) string { return strings.Trim(s, " \t\v\f\u00a0\ufeff") }

func isSpace(b byte) bool { return b == ' ' || b == '\t' }

// Sitemaps returns the values of the sitemap lines as written, in order, without repeats. They
// belong to the whole file, are often relative and may lie on other hosts: the caller resolves
// them against the URL that robots.txt was finally read from.
func (f *File) Sitemaps() []string {
	seen := make(map[string]bool, len(f.sitemaps))
	var out []string
	for _, s := range f.sitemaps {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
