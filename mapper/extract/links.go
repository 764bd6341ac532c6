package extract

import (
	"errors"
	"strings"

	"seine/formats/weburl"
)

// maxRel bounds the rel tokens kept of one link, in bytes.
const maxRel = 256

// rawLink is a link before the base is known.
type rawLink struct {
	Link
	ownBase bool // resolved against the page, not against its base element (headers are)
}

// linkKey tells links apart: the same target may be both an anchor and a canonical.
type linkKey struct{ kind, target string }

// collector gathers links as they are written, each once, and resolves them when all is read:
// a base element counts for the links before it too.
type collector struct {
	lim     Limits
	raw     []rawLink
	byHref  map[linkKey]int
	dropped int
	full    bool // links were dropped for their number
}

// add keeps a link and returns its place, or -1. An href that was there already brings its anchor
// and rel only if the first had none of use (see merge).
func (c *collector) add(kind string, href []byte, rel string) int {
	href = trimHref(href)
	if len(href) == 0 && !emptyMeans(kind) || isInline(kind, href) {
		return -1
	}
	if i, ok := c.byHref[linkKey{kind, string(href)}]; ok {
		mergeRel(&c.raw[i].Link, rel)
		return i
	}
	// Several spellings may resolve to one link, so that more are held than will be kept.
	if len(c.raw) >= 4*c.lim.Links {
		c.dropped++
		c.full = true
		return -1
	}
	l := rawLink{Link: Link{Href: string(href), Rel: rel, Kind: kind}}
	c.raw = append(c.raw, l)
	if c.byHref == nil {
		c.byHref = make(map[linkKey]int, 64)
	}
	c.byHref[linkKey{kind, l.Href}] = len(c.raw) - 1
	return len(c.raw) - 1
}

// addOwn keeps a link that a header gives: it is resolved against the page whatever base says.
func (c *collector) addOwn(kind, href string) {
	if len(href) > c.lim.AttrBytes {
		c.dropped++
		return
	}
	href = strings.ToValidUTF8(href, "\uFFFD")
	c.raw = append(c.raw, rawLink{Link: Link{Href: href, Kind: kind}, ownBase: true})
}

// trimHref drops HTML white space, and what the URL standard strips beyond it: C0 controls.
func trimHref(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// emptyMeans reports whether an empty reference means the page itself rather than nothing.
func emptyMeans(kind string) bool {
	return kind == KindA || kind == KindArea || kind == KindForm
}

// isInline reports embeds that are their own content and lead nowhere.
func isInline(kind string, href []byte) bool {
	switch kind {
	case KindA, KindArea, KindForm:
		return false
	}
	return hasFoldPrefix(href, "data:") || hasFoldPrefix(href, "blob:") ||
		hasFoldPrefix(href, "about:")
}

func hasFoldPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && strings.EqualFold(string(b[:len(prefix)]), prefix)
}

// mergeRel makes the kept link followable if its repeat is: one vote for a target is enough.
func mergeRel(kept *Link, rel string) {
	if kept.HasRel("nofollow") && !(Link{Rel: rel}).HasRel("nofollow") {
		kept.Rel = rel
	}
}

// resolver turns references into absolute URLs.
type resolver struct {
	page, base weburl.URL
	ok         bool // page parses
	encode     func(string) []byte
}

func newResolver(page string, encode func(string) []byte) resolver {
	u, err := weburl.Parse(page)
	return resolver{page: u, base: u, ok: err == nil, encode: encode}
}

// setBase takes the href of the base element; one that does not resolve changes nothing.
func (r *resolver) setBase(href string) {
	if !r.ok {
		return
	}
	if u, err := r.page.Resolve(href); err == nil {
		r.base = u
	}
}

// resolve gives the absolute form without fragment. Refused says why there is none.
func (r *resolver) resolve(href string, ownBase bool) (abs, refused string) {
	base := r.base
	if ownBase {
		base = r.page
	}
	var u weburl.URL
	var err error
	switch {
	case !r.ok:
		u, err = weburl.Parse(href)
	case r.encode != nil:
		u, err = base.ResolveQuery(href, r.encode)
	default:
		u, err = base.Resolve(href)
	}
	switch {
	case errors.Is(err, weburl.ErrScheme):
		return "", RefusedScheme
	case errors.Is(err, weburl.ErrTooLong):
		return "", RefusedTooLong
	case err != nil:
		return "", RefusedInvalid
	}
	return u.String(), ""
}

// finish resolves what was gathered and collapses what turns out to be the same.
func (c *collector) finish(r *resolver) []Link {
	if len(c.raw) == 0 {
		return nil
	}
	links := make([]Link, 0, min(len(c.raw), c.lim.Links))
	seen := make(map[linkKey]int, len(c.raw))
	for _, l := range c.raw {
		l.URL, l.Refused = r.resolve(l.Href, l.ownBase)
		key := linkKey{l.Kind, l.URL}
		if l.URL == "" {
			key.target = " " + l.Href // no URL begins with a space
		}
		if i, ok := seen[key]; ok {
			mergeRel(&links[i], l.Rel)
			if links[i].Anchor == "" {
				links[i].Anchor = l.Anchor
			}
			continue
		}
		if len(links) >= c.lim.Links {
			c.dropped++
			c.full = true
			continue
		}
		seen[key] = len(links)
		links = append(links, l.Link)
	}
	return links
}

// relTokens is a rel attribute as a list: lower case, each once, one space between two.
func relTokens(val []byte) string {
	if len(val) == 0 {
		return ""
	}
	var out []byte
	for f := range strings.FieldsSeq(strings.ToLower(string(val))) {
		if len(out)+1+len(f) > maxRel || (Link{Rel: string(out)}).HasRel(f) {
			continue
		}
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = append(out, f...)
	}
	return string(out)
}
