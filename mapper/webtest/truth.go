package webtest

import (
	"strings"
	"time"
)

// Expect is what a URL must end as in a crawl that asks for everything it may.
type Expect struct {
	Reason string // a reason of formats/schema
	Status int    // HTTP status; 0: no answer
	Page   bool   // has a row in pages
}

// Truth walks the model from seeds as a perfect crawler without limits of
// depth would, following links over all hosts, and says what every URL that is
// ever discovered must end as. Links into traps are left out: how deep a
// crawler goes is its own affair. Robots rules are those for the agent seine.
func (w *Web) Truth(seeds []string, now time.Time) map[string]Expect {
	truth := map[string]Expect{}
	queue := append([]string(nil), seeds...)
	for _, s := range seeds {
		truth[s] = Expect{}
	}
	for len(queue) > 0 {
		url := queue[0]
		queue = queue[1:]
		h, path := w.split(url)
		expect, found := w.visit(h, path, now)
		truth[url] = expect
		for _, u := range found {
			if _, known := truth[u]; !known {
				truth[u] = Expect{}
				queue = append(queue, u)
			}
		}
	}
	return truth
}

// split finds the host and path of a URL of the web.
func (w *Web) split(url string) (*Host, string) {
	_, rest, _ := strings.Cut(url, "://")
	name, path, _ := strings.Cut(rest, "/")
	h, _ := w.Host(name)
	return h, "/" + path
}

// visit says how asking for a path ends and which URLs it leads to.
func (w *Web) visit(h *Host, path string, now time.Time) (Expect, []string) {
	switch h.Health {
	case NoName:
		return Expect{Reason: "dns_not_found"}, nil
	case Refused:
		return Expect{Reason: "connect_refused"}, nil
	case Silent:
		return Expect{Reason: "robots_unreachable"}, nil
	}
	if h.Robots == RobotsError {
		return Expect{Reason: "robots_unreachable"}, nil
	}
	var found []string
	if h.Robots == RobotsSitemap {
		for n := range min(h.Pages, 100) {
			found = append(found, h.URL(Path(n)))
		}
	}
	if h.forbids(path) {
		return Expect{Reason: "robots_denied"}, found
	}
	a := w.answerTo(h, path, now)
	switch {
	case a.location != "" && a.location == path:
		return Expect{Reason: "redirect_loop", Status: a.status}, found
	case a.location != "":
		return Expect{Reason: "redirect", Status: a.status}, append(found, h.URL(a.location))
	case a.status == 403:
		return Expect{Reason: "http_403", Status: 403}, found
	case a.status == 404:
		return Expect{Reason: "http_404", Status: 404}, found
	case a.status >= 500:
		return Expect{Reason: "http_5xx", Status: a.status}, found
	case strings.HasPrefix(a.kind, "image/"):
		return Expect{Reason: "type_not_stored", Status: 200}, found
	}
	n, isPage := number(path)
	if isPage && w.Kind(h, n) != NoFollow {
		found = append(found, w.followed(h, w.linksOf(h, n))...)
	}
	return Expect{Reason: "ok", Status: a.status, Page: true}, found
}

// linksOf are the links in the body of page n.
func (w *Web) linksOf(h *Host, n int) []string {
	if w.Kind(h, n) == Copy {
		n = 0
	}
	return w.links(h, n)
}

// followed brings written links into normal form, leaving out what no crawler
// follows, and traps.
func (w *Web) followed(h *Host, hrefs []string) []string {
	var urls []string
	for _, href := range hrefs {
		href = strings.TrimSpace(href)
		href, _, _ = strings.Cut(href, "#")
		href, _, _ = strings.Cut(href, "?utm_")
		switch {
		case strings.HasPrefix(href, "/trap/"), strings.HasPrefix(href, "mailto:"),
			strings.HasPrefix(href, "javascript:"):
		case strings.HasPrefix(href, "/"):
			urls = append(urls, h.URL(href))
		default:
			urls = append(urls, href)
		}
	}
	return urls
}

// forbids says whether the host's robots.txt forbids a path to seine.
func (h *Host) forbids(path string) bool {
	if h.Robots == RobotsAll {
		return true
	}
	return h.Robots.hasRules() && h.Robots != RobotsError &&
		(strings.HasPrefix(path, "/private/") || strings.HasSuffix(path, ".secret"))
}
