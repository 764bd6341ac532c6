package extract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func extractFeed(body string) Page {
	return Extract(Input{URL: "http://h.test/feeds/all.xml", ContentType: "application/xml",
		Body: []byte(body)}, Limits{})
}

func TestFeedRSS(t *testing.T) {
	p := extractFeed(`<?xml version="1.0"?>
<rss version="2.0" xmlns:media="m" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>The &amp; feed</title><link>http://h.test/</link><language>en-GB</language>
<atom:link rel="self" href="http://h.test/feeds/all.xml"/>
<image><url>http://h.test/i.png</url><title>logo</title><link>http://h.test/</link></image>
<item><title>One &lt;b&gt;bold&lt;/b&gt;</title><media:title>no</media:title>
 <link> http://h.test/1?a=1&amp;b=2
 </link><description><![CDATA[<p>First&nbsp;<a href="http://o.test/">text</a>
 <script>x</script></p>]]></description>
 <pubDate>Mon, 06 Sep 2021 00:01:00 +0000</pubDate>
 <enclosure url="/pod.mp3" type="audio/mpeg"/></item>
<item><guid>http://h.test/2</guid><title>Two</title></item>
<item><guid isPermaLink="false">http://h.test/no</guid><title>Three</title></item>
<item><link>/4</link><guid>http://h.test/no</guid></item>
</channel></rss>`)
	if p.MIMEDetected != typeRSS || p.Title != "The & feed" || p.Language != "en-gb" {
		t.Errorf("type %q title %q language %q", p.MIMEDetected, p.Title, p.Language)
	}
	want := []Link{
		{Href: "http://h.test/", URL: "http://h.test/", Kind: KindLink},
		{Href: "http://h.test/feeds/all.xml", URL: "http://h.test/feeds/all.xml", Rel: "self",
			Kind: KindData},
		{Href: "http://h.test/1?a=1&b=2", URL: "http://h.test/1?a=1&b=2", Anchor: "One bold",
			Kind: KindFeed},
		{Href: "/pod.mp3", URL: "http://h.test/pod.mp3", Kind: KindMedia},
		{Href: "http://h.test/2", URL: "http://h.test/2", Anchor: "Two", Kind: KindFeed},
		{Href: "/4", URL: "http://h.test/4", Kind: KindFeed},
	}
	if d := cmp.Diff(want, p.Links); d != "" {
		t.Errorf("links (-want +got):\n%s", d)
	}
	text := "The & feed\nlogo\nOne bold\nno\nFirst text\nTwo\nThree"
	if d := cmp.Diff(text, p.Text); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
}

func TestFeedAtom(t *testing.T) {
	p := extractFeed(`<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://b.test/x/"
 xml:lang="de">
<title>F</title><link href="."/><link rel="next" href="?page=2"/>
<entry><title type="html">E &amp;amp; 1</title><link rel="edit" href="no"/>
 <link rel="enclosure" href="e.mp3"/><link href="1"/><id>tag:x</id><updated>2024-01-01</updated>
 <source><title>other</title><link href="http://o.test/"/></source>
 <content type="xhtml"><div><p>some</p>text</div></content></entry>
<entry><title>E2</title><link rel="alternate" href="2"/>`)
	wantLinks(t, p, "link http://b.test/x/", "link http://b.test/x/?page=2", "feed http://b.test/x/1",
		"media http://b.test/x/e.mp3", "feed http://b.test/x/2")
	if p.Text != "F\nE & 1\nsome\ntext\nE2" || p.Title != "F" || p.Language != "de" {
		t.Errorf("text %q title %q language %q", p.Text, p.Title, p.Language)
	}
	if got := p.Links[2].Anchor; got != "E & 1" {
		t.Errorf("anchor %q", got)
	}
}

func TestFeedRSS10(t *testing.T) {
	p := extractFeed(`<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel><title>t</title>
		<link>http://h.test/</link></channel><item rdf:about="x"><title>i</title>
		<link>http://h.test/1</link></item></rdf:RDF>`)
	wantLinks(t, p, "link http://h.test/", "feed http://h.test/1")
}

// Unescaped ampersands in addresses are common and are no entities.
func TestFeedUnescaped(t *testing.T) {
	p := extractFeed(`<rss><item><link>http://h.test/?a=1&copy=2&b</link></item>
		<item><link><![CDATA[http://h.test/?a=1&copy;=2]]></link></item></rss>`)
	wantLinks(t, p, "feed http://h.test/?a=1&copy=2&b", "feed http://h.test/?a=1&copy;=2")
}

func TestXMLDocument(t *testing.T) {
	p := Extract(Input{URL: pageURL, ContentType: "text/xml", Body: []byte(
		"<?xml version='1.0' encoding='ISO-8859-1'?><!DOCTYPE d><d><a>caf\xe9 &#x263A;</a>" +
			"<!-- no --><title>b<![CDATA[ &amp; ]]></title></d>")}, Limits{})
	if p.Text != "café ☺\nb &amp;" || p.Charset != "windows-1252" || p.MIMEDetected != typeXML {
		t.Errorf("text %q charset %q type %q", p.Text, p.Charset, p.MIMEDetected)
	}
}

func TestXMLUnescape(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "&amp;&lt;&gt;&quot;&apos;": `&<>"'`, "&#65;&#x42;&#X43;": "ABC", "&": "&",
		"&amp":    "&amp",
		"&bogus;": "&bogus;", "&copy=": "&copy=", "&#0;": "\uFFFD", "&#xD800;": "\uFFFD",
		"&#x110000;": "\uFFFD", "&#;&#x;": "&#;&#x;", "&&amp;&": "&&&", "a&nbsp;b": "a\u00a0b",
		"&amp;lt;": "&lt;",
	} {
		if got := string(xmlUnescape([]byte(in))); got != want {
			t.Errorf("xmlUnescape(%q) = %q, want %q", in, got, want)
		}
	}
}
