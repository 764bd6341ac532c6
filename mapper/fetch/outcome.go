package fetch

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"seine/formats/schema"
	"seine/formats/warc"
)

// outcome is all that one decision or exchange leaves: a record of the spool.
type outcome struct {
	Fetch  schema.Fetch
	Page   *schema.Page   `json:",omitempty"` // its Text is a section of its own
	Robots *schema.Robots `json:",omitempty"`
	Source source
	Web    *exchange `json:",omitempty"`

	text  string
	links []link
}

// source is what the links of an outcome inherit.
type source struct {
	Depth    int32
	Priority float32
	Seed     string
	First    bool
}

// link is a row of links and how much its target looks like a trap.
type link struct {
	schema.Link
	suspicion float32
	depth     int32 // of the target
}

// exchange is what the archive keeps of an exchange.
type exchange struct {
	Date      time.Time
	IP        string
	Truncated string
	Type      string         // as detected
	Digest    string         // of the payload
	Revisit   *warc.Original `json:",omitempty"`
	Protocols []string       `json:",omitempty"` // spoken, as WARC-Protocol names them
	Cipher    string         `json:",omitempty"` // suite of TLS, by IANA's name

	request, header, body []byte
}

var errRecord = errors.New("damaged spool record")

// encode gives the parts of a spool record: sections, each with its length.
func (o *outcome) encode() ([][]byte, error) {
	text := o.text
	if o.Page != nil {
		o.Page.Text = ""
	}
	meta, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode outcome of %s: %w", o.Fetch.URL, err)
	}
	sections := [][]byte{meta, []byte(text), encodeLinks(o.links), nil, nil, nil}
	if o.Web != nil {
		sections[3], sections[4], sections[5] = o.Web.request, o.Web.header, o.Web.body
	}
	parts := make([][]byte, 0, 2*len(sections))
	for _, s := range sections {
		parts = append(parts, binary.AppendUvarint(nil, uint64(len(s))), s)
	}
	return parts, nil
}

// decodeOutcome reads a record back. The bytes of the exchange are b's own: they
// are good as long as b is. All else is kept apart from it.
func decodeOutcome(b []byte) (*outcome, error) {
	sections := make([][]byte, 6)
	for i := range sections {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)-used) {
			return nil, errRecord
		}
		sections[i], b = b[used:used+int(n)], b[used+int(n):]
	}
	if len(b) > 0 {
		return nil, errRecord
	}
	var o outcome
	if err := json.Unmarshal(sections[0], &o); err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	var err error
	if o.links, err = decodeLinks(sections[2]); err != nil {
		return nil, err
	}
	if o.text = string(sections[1]); o.Page != nil {
		o.Page.Text = o.text
	}
	if o.Web != nil {
		o.Web.request, o.Web.header, o.Web.body = sections[3], sections[4], sections[5]
	}
	return &o, nil
}

func (l *link) strings() [11]*string {
	return [...]*string{&l.SrcDomain, &l.SrcHost, &l.SrcURL, &l.DstURL, &l.DstDomain, &l.Href,
		&l.Anchor, &l.Rel, &l.Kind, &l.Verdict, &l.Rule}
}

// encodeLinks writes each link as its strings and numbers; the source's names
// repeat and are left to the first link.
func encodeLinks(links []link) []byte {
	b := make([]byte, 0, linkBytes*len(links))
	for i := range links {
		for j, s := range links[i].strings() {
			if i > 0 && j < 3 {
				continue
			}
			b = binary.AppendUvarint(b, uint64(len(*s)))
			b = append(b, *s...)
		}
		b = binary.AppendVarint(b, links[i].Round)
		b = binary.AppendVarint(b, int64(links[i].depth))
		b = binary.AppendUvarint(b, uint64(links[i].suspicion*1e6))
	}
	return b
}

// linkBytes is about what an encoded link takes.
const linkBytes = 112

func decodeLinks(b []byte) ([]link, error) {
	var links []link
	all := string(b) // one copy that every string shares
	for len(all) > 0 {
		if links == nil {
			links = make([]link, 0, len(all)/linkBytes+1)
		}
		links = append(links, link{})
		l := &links[len(links)-1]
		if len(links) > 1 {
			l.SrcDomain, l.SrcHost, l.SrcURL = links[0].SrcDomain, links[0].SrcHost, links[0].SrcURL
		}
		for j, s := range l.strings() {
			if len(links) > 1 && j < 3 {
				continue
			}
			var ok bool
			if *s, all, ok = cutString(all); !ok {
				return nil, errRecord
			}
		}
		var numbers [3]int64
		for j := range numbers {
			n, rest, ok := cutNumber(all, j == 2)
			if !ok {
				return nil, errRecord
			}
			numbers[j], all = n, rest
		}
		l.Round, l.depth, l.suspicion = numbers[0], int32(numbers[1]), float32(numbers[2])/1e6
	}
	return links, nil
}

func cutString(s string) (value, rest string, ok bool) {
	n, rest, ok := cutNumber(s, true)
	if !ok || n < 0 || n > int64(len(rest)) {
		return "", "", false
	}
	return rest[:n], rest[n:], true
}

// cutNumber reads a varint off the front of a string.
func cutNumber(s string, unsigned bool) (n int64, rest string, ok bool) {
	if unsigned && len(s) > 0 && s[0] < 0x80 { // most lengths
		return int64(s[0]), s[1:], true
	}
	var b [binary.MaxVarintLen64]byte
	head := b[:copy(b[:], s)]
	used := 0
	if unsigned {
		var u uint64
		u, used = binary.Uvarint(head)
		n = int64(u)
	} else {
		n, used = binary.Varint(head)
	}
	if used <= 0 {
		return 0, "", false
	}
	return n, s[used:], true
}

// id tells outcomes of one task apart: a URL of the list has one, the others
// are told by when they began.
func (o *outcome) id() string { return fetchID(&o.Fetch) }

func fetchID(f *schema.Fetch) string {
	if f.Kind == kindPage && f.Final {
		return f.URL
	}
	return strings.Join([]string{f.URL, f.Kind, fmt.Sprint(f.StartedAt), f.Reason}, " ")
}

// Kinds of fetches.
const (
	kindPage    = "page"
	kindRobots  = "robots"
	kindSitemap = "sitemap"
)
