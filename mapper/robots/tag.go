package robots

import (
	"strings"

	"seine/formats/robotstxt"
)

// Directives are what X-Robots-Tag headers or a <meta name=robots> ask of an indexer.
type Directives struct {
	NoIndex      bool // do not show the page in results
	NoFollow     bool // do not follow its links
	NoArchive    bool // show no cached copy
	NoSnippet    bool // show no extract
	NoImageIndex bool // do not index its images
}

// Or joins the directives of several places (header, meta): any prohibition holds.
func (d Directives) Or(e Directives) Directives {
	return Directives{d.NoIndex || e.NoIndex, d.NoFollow || e.NoFollow, d.NoArchive || e.NoArchive,
		d.NoSnippet || e.NoSnippet, d.NoImageIndex || e.NoImageIndex}
}

// ParseRobotsTag reads the values of all X-Robots-Tag headers of a response, or the contents of its
// <meta name=robots> and <meta name=TOKEN> elements, for a product token. Names are case-blind.
// "agent: a, b" speaks to that agent alone, until the value ends or names another; what names no
// agent, or '*', speaks to all. Prohibitions add up ("all" and "index" take none back) and "none"
// is noindex and nofollow. unavailable_after, max-snippet and the like are read over: a page's
// removal at a date is noticed when it is looked at again.
func ParseRobotsTag(values []string, token string) Directives {
	token = robotstxt.ProductToken(token)
	var d Directives
	for _, value := range values {
		ours := true
		for piece := range strings.FieldsFuncSeq(value, func(r rune) bool {
			return r == ',' || r == ';'
		}) {
			name, rest, colon := strings.Cut(piece, ":")
			if name = strings.ToLower(strings.Trim(name, " \t\v\f\u00a0\ufeff")); colon {
				if valued[name] {
					continue
				}
				if name == "*" || name != "" && robotstxt.ProductToken(name) == name {
					ours, piece = name == "*" || name == token, rest
				}
			}
			if ours {
				d.add(piece)
			}
		}
	}
	return d
}

// valued are the directives that take a value after a colon, and so are no agents.
var valued = map[string]bool{"unavailable_after": true, "max-snippet": true,
	"max-image-preview": true, "max-video-preview": true}

func (d *Directives) add(piece string) {
	for word := range strings.FieldsSeq(strings.ToLower(piece)) {
		switch word {
		case "noindex":
			d.NoIndex = true
		case "nofollow":
			d.NoFollow = true
		case "none":
			d.NoIndex, d.NoFollow = true, true
		case "noarchive", "nocache":
			d.NoArchive = true
		case "nosnippet":
			d.NoSnippet = true
		case "noimageindex":
			d.NoImageIndex = true
		}
	}
}
