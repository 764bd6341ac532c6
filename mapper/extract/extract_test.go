package extract

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pageURL = "http://h.test/dir/page.html"

// extractHTML reads markup as if it came from pageURL as UTF-8.
func extractHTML(markup string) Page {
	return Extract(Input{
		URL: pageURL, ContentType: "text/html; charset=utf-8", Body: []byte(markup),
	}, Limits{})
}

// brief prints links as "kind URL" or, unresolved, "kind !refused href".
func brief(links []Link) []string {
	var out []string
	for _, l := range links {
		if l.URL == "" {
			out = append(out, l.Kind+" !"+l.Refused+" "+l.Href)
		} else {
			out = append(out, l.Kind+" "+l.URL)
		}
	}
	return out
}

func wantLinks(t *testing.T, p Page, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, brief(p.Links)); d != "" {
		t.Errorf("links (-want +got):\n%s", d)
	}
}

func TestExtractWholePage(t *testing.T) {
	p := Extract(Input{
		URL:         pageURL,
		ContentType: "Text/HTML; Charset=UTF-8",
		Body: []byte(`<!DOCTYPE html><html lang="de-AT"><head><title> A
			title </title><link rel=canonical href="/c#x"><meta name=robots content=noindex>
			</head><body><h1>Hello</h1><p>one <b>two</b><p>three<a href="x?a=1&amp;b=2">a <i>link</i></a>
			</body></html>`),
	}, Limits{})
	want := Page{
		MIMEDeclared: "text/html", MIMEDetected: "text/html", Charset: "utf-8", Language: "de-at",
		Title: "A title", Text: "Hello\none two\nthreea link", HasText: true,
		ContentHash: ContentHash("hello one two threea link"),
		SimHash:     SimHash("hello one two threea link"),
		Canonical:   "http://h.test/c", NoIndex: true,
		Links: []Link{
			{Href: "/c#x", URL: "http://h.test/c", Rel: "canonical", Kind: KindCanonical},
			{Href: "x?a=1&b=2", URL: "http://h.test/dir/x?a=1&b=2", Anchor: "a link", Kind: KindA},
		},
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("page (-want +got):\n%s", d)
	}
}

func TestExtractHeaders(t *testing.T) {
	h := http.Header{}
	h.Add("X-Robots-Tag", "otherbot: nofollow")
	h.Add("X-Robots-Tag", "noindex")
	h.Add("Link", `</style.css>; rel=preload, <doc.html>; rel="canonical"`)
	h.Add("Refresh", "3; url=next.html")
	h.Add("Content-Language", "fr_CA")
	p := Extract(Input{
		URL: pageURL, ContentType: "application/pdf", Header: h.Values, Body: []byte("%PDF-1.7\n"),
	}, Limits{})
	want := Page{
		MIMEDeclared: "application/pdf", MIMEDetected: "application/pdf", Language: "fr-ca",
		Canonical: "http://h.test/dir/doc.html", Refresh: "http://h.test/dir/next.html", NoIndex: true,
		Links: []Link{
			{Href: "doc.html", URL: "http://h.test/dir/doc.html", Kind: KindCanonical},
			{Href: "next.html", URL: "http://h.test/dir/next.html", Kind: KindRefresh},
		},
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("page (-want +got):\n%s", d)
	}
}

// Headers know nothing of a base element, and the document's own words go first.
func TestExtractHeadersAgainstDocument(t *testing.T) {
	h := http.Header{"Link": {`<c>; rel=canonical`}, "Refresh": {"0;r"}}
	in := Input{URL: pageURL, ContentType: "text/html", Header: h.Values}
	in.Body = []byte(`<base href=/b/>`)
	p := Extract(in, Limits{})
	if p.Canonical != "http://h.test/dir/c" || p.Refresh != "http://h.test/dir/r" {
		t.Errorf("header only: canonical %q, refresh %q", p.Canonical, p.Refresh)
	}
	in.Body = []byte(`<base href=/b/><link rel=canonical href=d>
		<meta http-equiv=refresh content="0;url=m">`)
	p = Extract(in, Limits{})
	if p.Canonical != "http://h.test/b/d" || p.Refresh != "http://h.test/b/m" {
		t.Errorf("both: canonical %q, refresh %q", p.Canonical, p.Refresh)
	}
}

func TestExtractPlainText(t *testing.T) {
	p := Extract(Input{
		URL: pageURL, ContentType: "text/plain", Body: []byte("a  b\r\n\r\n<a href=x>c</a>\n"),
	}, Limits{})
	if p.Text != "a b\n<a href=x>c</a>" || p.Links != nil || p.MIMEDetected != "text/plain" {
		t.Errorf("got %+v", p)
	}
}

func TestExtractWithoutText(t *testing.T) {
	for name, body := range map[string]string{
		"empty": "", "spaces": " \n\t ", "markup only": "<p><br><img src=x>",
		"script": "<script>var a = 'text'</script>", "nbsp": "<p>&nbsp;&#8203;</p>",
	} {
		t.Run(name, func(t *testing.T) {
			p := extractHTML(body)
			if p.HasText || p.Text != "" || p.ContentHash != 0 || p.SimHash != 0 {
				t.Errorf("got text %q, HasText %v, hashes %x %x", p.Text, p.HasText, p.ContentHash,
					p.SimHash)
			}
		})
	}
}

func TestExtractFaults(t *testing.T) {
	long := strings.Repeat("x", 50)
	for _, c := range []struct {
		name string
		in   Input
		lim  Limits
		want []string
	}{
		{"none", Input{Body: []byte("<p>x")}, Limits{}, nil},
		{"unknown header charset", Input{ContentType: "text/html; charset=none", Body: []byte("<p>x")},
			Limits{}, []string{FaultCharset}},
		{"unknown meta charset", Input{Body: []byte("<meta charset=klingon>x")}, Limits{},
			[]string{FaultCharset}},
		{"bad bytes", Input{ContentType: "text/html; charset=utf-8", Body: []byte("<p>\xff")},
			Limits{}, []string{FaultEncoding}},
		{"nul", Input{Body: []byte("<p>a\x00b")}, Limits{}, []string{FaultNUL}},
		{"text cut", Input{Body: []byte("<p>" + long)}, Limits{Text: 10}, []string{FaultTextCut}},
		{"attribute", Input{Body: []byte("<a href=" + long + ">")}, Limits{AttrBytes: 40},
			[]string{FaultAttr}},
		{"links", Input{Body: []byte("<a href=1><a href=2>")}, Limits{Links: 1}, []string{FaultLinks}},
		{"truncated", Input{Body: []byte("<p>x"), Truncated: true}, Limits{}, []string{FaultTruncated}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.URL = pageURL
			if c.in.ContentType == "" {
				c.in.ContentType = "text/html"
			}
			if d := cmp.Diff(c.want, Extract(c.in, c.lim).ParseErrors); d != "" {
				t.Errorf("faults (-want +got):\n%s", d)
			}
		})
	}
	t.Run("bad page URL", func(t *testing.T) {
		p := Extract(Input{URL: "::", ContentType: "text/html", Body: []byte(
			`<a href=rel><a href=http://o.test/x>`)}, Limits{})
		if d := cmp.Diff([]string{FaultURL}, p.ParseErrors); d != "" {
			t.Error(d)
		}
		wantLinks(t, p, "a !invalid rel", "a http://o.test/x")
	})
}

func TestFollowed(t *testing.T) {
	for kinds, want := range map[string][2]bool{ // without embeds, with them
		"a area frame iframe refresh canonical redirect sitemap": {true, true},
		"feed og link":               {true, true},
		"img script css media embed": {false, true},
		"form data other":            {false, false},
	} {
		for kind := range strings.FieldsSeq(kinds) {
			if got := [2]bool{Followed(kind, false), Followed(kind, true)}; got != want {
				t.Errorf("Followed(%q) = %v, want %v", kind, got, want)
			}
		}
	}
}

func TestExtractDoesNotChangeBody(t *testing.T) {
	body := []byte("<p>a&amp;b\r\nc<a href='x&amp;y'>D</a><TITLE>&lt;</TITLE>")
	before := string(body)
	Extract(Input{URL: pageURL, ContentType: "text/html", Body: body}, Limits{})
	if string(body) != before {
		t.Errorf("body became %q", body)
	}
}
