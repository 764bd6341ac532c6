package extract

import (
	"bytes"
	"testing"

	"golang.org/x/net/html"
)

// plainDocuments are documents at whose edges a reader of its own can go wrong.
var plainDocuments = []string{
	"", "<", "<a", "<a>", "</a>", "</", "</>", "</ a>", "<!", "<!-->", "<!--->", "<!---->",
	"<!--a-->b", "<!--a--!>b-->c", "<!--a--", "<!doctype html><p>", "<?xml version='1'?><a>",
	"a<b", "a < b<i>c</i>", "x<", "x</", "x&amp;y&lt<i>", "a\r\nb\rc<p>", "a\x00b<p>", "<p a=b/>",
	"<p a=b />", "<p a/>", "<p/>", "<p / >", "<p a='x'/>", "<p a='x>y' b=\"<\">t</p>", "<p =a>",
	"<p ==a>", "<p a= >", "<p a=>x", "<p a=''>", "<p a=1 A=2 a=3/>", "<p a=1 =/>x",
	"<p a='unclosed>", "<P CLASS=Big HREF=/X>", "<a href=?x=1&y=2&amp;z=3>",
	"<a href='&copy=1&copy;&#65;&amp;amp;&'>", "<a href=&ampx>", "<a href='&notit;&notin;'>",
	"<a h\x00=v\x00>", "<a h='1\r\n2'>", "</a b='>'>c", "</a b=>c", "<script>a<b</script>c",
	"<script>a<!--<script></script>--></script>c", "<SCRIPT></SCRIPT>x",
	"<script src=x></script ><p>", "<script>a</scripty></script/>b", "<script>unclosed",
	"<style>a</style", "<style>p>q</STYLE>r<p>", "<title>a&amp;b<i></title>c",
	"<textarea>\n<p></textarea>d", "<plaintext>a</plaintext>b", "<xmp><p></xmp>e",
	"<noscript><a href=x></noscript>f", "<iframe><p></iframe>g", "<script/>a</script>b",
	"<img src=x/><br/>", "<p a='1'b='2'/c=3>", "<p\na\t=\f'b'\r>", "<i>é&eacute;</i>ü",
	"<b\x00c>", "<a/b/c=d/>", "<svg><![CDATA[x]]></svg>", "<p ' \">", "<!>a", "<!a>b", "<!->c",
	"<!-a>d", "<?>e", "</?f>g", "<!d>h", "<![x]>i", "<!--a--b---->c", "<!--", "<!-->", "<!---",
	"<!--a-->", "<a href=/dir/>x", "<a x=1 href=/dir/>x", "<a x=1 x=/>x",
	"<xmp>\x00&amp;\r\n</xmp>", "<title>\x00&amp;\r</title>", "<title></</title>x",
	"<noembed></n</noembed >x", "<textarea></textarea",
}

// likeTokenizer compares the cursor's tokens with those of the tokenizer.
func likeTokenizer(t *testing.T, src []byte) {
	t.Helper()
	kept := bytes.Clone(src)
	z, c := html.NewTokenizer(bytes.NewReader(kept)), newCursor(src)
	for {
		want, got := z.Next(), c.next()
		raw := bytes.Clone(z.Raw())
		if want != got || !bytes.Equal(raw, c.token()) {
			t.Fatalf("%q: %v %q, the tokenizer says %v %q", src, got, c.token(), want, raw)
		}
		switch got {
		case html.ErrorToken:
			if !bytes.Equal(src, kept) {
				t.Errorf("%q has become %q", kept, src)
			}
			return
		case html.TextToken:
			if w, g := z.Text(), c.text(); !bytes.Equal(w, g) {
				t.Fatalf("%q: text %q, the tokenizer says %q", src, g, w)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			sameAttributes(t, z, &c)
			if c.raw = 0; isRaw(c.name()) {
				c.raw = c.name()
			}
		case html.EndTagToken:
			c.raw = 0
		}
	}
}

func sameAttributes(t *testing.T, z *html.Tokenizer, c *cursor) {
	t.Helper()
	var want []attribute
	if _, more := z.TagName(); more {
		for more && len(want) < maxAttrs {
			var a attribute
			a.key, a.val, more = z.TagAttr()
			want = append(want, attribute{bytes.Clone(a.key), bytes.Clone(a.val)})
		}
	}
	got := c.attributes(nil, 1<<20, func(attribute) {})
	if len(got) != len(want) {
		t.Fatalf("%q: %d attributes %q, the tokenizer says %q", c.token(), len(got), got, want)
	}
	for i := range got {
		if !bytes.Equal(got[i].key, want[i].key) || !bytes.Equal(got[i].val, want[i].val) {
			t.Fatalf("%q: attribute %q, the tokenizer says %q", c.token(), got[i], want[i])
		}
	}
}

// TestPlainTokens: reading plain tokens without the tokenizer changes nothing.
func TestPlainTokens(t *testing.T) {
	for _, doc := range append(plainDocuments, string(benchPage())) {
		likeTokenizer(t, []byte(doc))
		likeTokenizer(t, []byte(doc+"<p class='x'>after &amp; all</p> "))
	}
}

// FuzzPlainTokens is the same for any document.
func FuzzPlainTokens(f *testing.F) {
	for _, doc := range plainDocuments {
		f.Add([]byte(doc))
	}
	f.Fuzz(likeTokenizer)
}
