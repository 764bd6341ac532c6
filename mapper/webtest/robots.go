package webtest

import "fmt"

// RobotsKind is what a host's robots.txt is.
type RobotsKind string

// Kinds of robots.txt.
const (
	RobotsRules    RobotsKind = "rules"    // /private/ forbidden, with a wildcard
	RobotsNone     RobotsKind = "none"     // 404: all allowed
	RobotsAll      RobotsKind = "all"      // everything forbidden
	RobotsDelay    RobotsKind = "delay"    // Crawl-delay: 2
	RobotsOwn      RobotsKind = "own"      // a group for seine, another for *
	RobotsError    RobotsKind = "error"    // 500: forbidden for now
	RobotsRedirect RobotsKind = "redirect" // to /robots-moved.txt of the same host
	RobotsHTML     RobotsKind = "html"     // an HTML page with status 200: no rules
	RobotsJunk     RobotsKind = "junk"     // BOM, CR, typos, rules before any agent
	RobotsSitemap  RobotsKind = "sitemap"  // names /sitemap.xml
)

func (w *Web) robotsKind(name string) RobotsKind {
	switch p := w.unit("robots", name); {
	case p < 0.50:
		return RobotsRules
	case p < 0.65:
		return RobotsNone
	case p < 0.68:
		return RobotsAll
	case p < 0.72:
		return RobotsDelay
	case p < 0.77:
		return RobotsOwn
	case p < 0.80:
		return RobotsError
	case p < 0.84:
		return RobotsRedirect
	case p < 0.88:
		return RobotsHTML
	case p < 0.93:
		return RobotsJunk
	}
	return RobotsSitemap
}

func (k RobotsKind) allowsRoot() bool { return k != RobotsAll && k != RobotsError }

// hasRules says whether /private/ is forbidden.
func (k RobotsKind) hasRules() bool { return k != RobotsNone && k != RobotsHTML }

const rules = "User-agent: *\nDisallow: /private/\nDisallow: /*.secret$\n"

// robotsTxt is the answer to /robots.txt.
func (h *Host) robotsTxt() answer {
	text := func(s string) answer {
		return answer{status: 200, kind: "text/plain", body: []byte(s)}
	}
	switch h.Robots {
	case RobotsNone:
		return answer{status: 404, kind: "text/html", body: []byte("<h1>not found</h1>")}
	case RobotsAll:
		return text("User-agent: *\nDisallow: /\n")
	case RobotsDelay:
		return text("User-agent: *\nCrawl-delay: 2\nDisallow: /private/\nDisallow: /*.secret$\n")
	case RobotsOwn:
		return text("User-agent: *\nDisallow: /\n\nUser-agent: Seine/9\nDisallow: /private/\n" +
			"Disallow: /*.secret$\nAllow: /\n")
	case RobotsError:
		return answer{status: 500, kind: "text/html", body: []byte("<h1>error</h1>")}
	case RobotsRedirect:
		return answer{status: 301, location: "/robots-moved.txt"}
	case RobotsHTML:
		return answer{status: 200, kind: "text/html", body: []byte("<html><h1>Welcome</h1></html>")}
	case RobotsJunk:
		return text("\ufeffDisallow: /\r\nuser-agent : *\r\nCrawl-delay: soon\r\n" +
			"Dissallow: /private/ # private\r\nDisallow:/*.secret$\r\n<b>\x00\r\n")
	case RobotsSitemap:
		return text(rules + fmt.Sprintf("Sitemap: %s\n", h.URL("/sitemap.xml")))
	}
	return text(rules)
}
