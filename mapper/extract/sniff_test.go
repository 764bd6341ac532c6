package extract

import (
	"strings"
	"testing"
)

func TestEssence(t *testing.T) {
	for in, want := range map[string]string{
		"text/html": "text/html", "Text/HTML ; charset=x": "text/html", "": "", "html": "",
		"text/html, text/plain": "text/plain", "text/plain; charset=x, text/html, */*": "text/html", "text/": "", "a b/c": "", "text/ht\xffml": "",
		"application/atom+xml;type=feed": "application/atom+xml",
	} {
		if got := essence(in); got != want {
			t.Errorf("essence(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDetectMIME(t *testing.T) {
	const xhtml = `<html xmlns="http://www.w3.org/1999/xhtml">`
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	for _, c := range []struct{ name, declared, body, want string }{
		{"html undeclared", "", "<!doctype html><p>", "text/html"},
		{"html behind a comment", "", "<!-- x --><html>", "text/html"},
		{"html behind a BOM", "", "\xef\xbb\xbf<html>", "text/html"},
		{"html in UTF-16", "", "\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00", "text/html"},
		{"html as octet-stream", "application/octet-stream", "<html>", "text/html"},
		{"html as a picture", "image/jpeg", "<!DOCTYPE html><html>", "text/html"},
		{"html declared, nothing to be seen", "text/html", "hello", "text/html"},
		{"html with NULs", "text/html", "<p>\x00\x01", "text/html"},
		{"html with an XML declaration", "text/html", "<?xml version='1.0'?>" + xhtml, "text/html"},
		{"html declared as XML", "text/xml", "<!DOCTYPE html><html><head>", "text/html"},
		{"xhtml", "application/xhtml+xml", xhtml, "application/xhtml+xml"},
		{"xhtml undeclared", "", "<?xml version='1.0'?>" + xhtml, "application/xhtml+xml"},
		{"xhtml as XML", "application/xml", "<?xml version='1.0'?>" + xhtml, "application/xhtml+xml"},
		{"text stays text", "text/plain", "<html><p>", "text/plain"},
		{"text undeclared", "", "just words", "text/plain"},
		{"text that is binary", "text/plain", "\x01\x02\x03abc", "application/octet-stream"},
		{"text that looks like a bitmap", "text/plain", "BM is the ticker", "text/plain"},
		{"words that look like a bitmap", "", "BM is the ticker", "text/plain"},
		{"a real bitmap", "text/plain", "BM\x00\x01\x02\x03", "image/bmp"},
		{"empty", "", "", "text/plain"},
		{"empty but declared", "text/html", " \n", "text/html"},
		{"pdf", "", "%PDF-1.4", "application/pdf"},
		{"pdf as html", "text/html", "%PDF-1.4", "application/pdf"},
		{"png as html", "text/html", png, "image/png"},
		{"png", "image/jpeg", png, "image/png"},
		{"gif", "image/gif", "GIF89a\x01\x00\x01\x00", "image/gif"},
		{"gzip", "text/xml", "\x1f\x8b\x08\x00\x00", "application/x-gzip"},
		{"binary undeclared", "", "\x00\x01\x02", "application/octet-stream"},
		{"unknown type stands", "application/x-thing", "abc", "application/x-thing"},
		{"json", "application/json", `{"a":1}`, "application/json"},
		{"css", "text/css", "a{}", "text/css"},
		{"malformed declaration", "html", "<html>", "text/html"},
		{"xml", "text/xml", "<?xml version='1.0'?><a/>", "application/xml"},
		{"xml undeclared", "", "<?xml version='1.0'?><a/>", "application/xml"},
		{"xml of a kind", "application/mathml+xml", "<math/>", "application/mathml+xml"},
		{"svg", "image/svg+xml", "<svg/>", "image/svg+xml"},
		{"svg as XML", "text/xml", "<?xml version='1.0'?><svg/>", "image/svg+xml"},
		{"rss as html", "text/html", "<?xml version='1.0'?>\n<!-- x --><rss version='2.0'>", typeRSS},
		{"rss as XML", "application/xml", "<rss>", typeRSS},
		{"rss undeclared", "", "<rss>", typeRSS},
		{"rss 1.0", "text/xml", "<rdf:RDF xmlns='http://purl.org/rss/1.0/'>", typeRSS},
		{"rdf", "text/xml", "<rdf:RDF>", "application/rdf+xml"},
		{"atom", "text/xml", "<feed xmlns='http://www.w3.org/2005/Atom'>", typeAtom},
		{"atom with a prefix", "application/xml", "<atom:feed>", typeAtom},
		{"atom in name only", typeAtom, "<!DOCTYPE html><html>", "text/html"},
		{"sitemap as html", "text/html", "<?xml version='1.0'?><urlset>", "application/xml"},
		{"root behind a stylesheet", "", "<?xml version='1.0'?><?xml-stylesheet href='a'?><rss>",
			typeRSS},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := DetectMIME(c.declared, []byte(c.body)); got != c.want {
				t.Errorf("DetectMIME(%q, %q) = %q, want %q", c.declared, c.body, got, c.want)
			}
		})
	}
}

func TestDetectMIMELongPreamble(t *testing.T) {
	body := "<!--" + strings.Repeat("x", 4000) + "--><rss>"
	if got := DetectMIME("text/html", []byte(body)); got != typeRSS {
		t.Errorf("got %q", got)
	}
}
