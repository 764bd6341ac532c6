package extract

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, html, want string }{
		{"white space", "  a \t\n b&nbsp;&nbsp;c\u3000d ", "a b c d"},
		{"blocks", "<div>a</div><div> b </div>\n<p>c<p>d<br>e", "a\nb\nc\nd\ne"},
		{"inline", "a<b>b</b><span>c</span> <i> d</i>", "abc d"},
		{"cells", "<table><tr><td>a<td>b<tr><td>c</table>", "a b\nc"},
		{"list", "<ul><li>a<li>b</ul>c", "a\nb\nc"},
		{"entities", "&lt;p&gt; &eacute; &#8364; &#x80; &bogus; &amp;amp;",
			"<p> é € € &bogus; &amp;"},
		{"surrogates and beyond", "&#xD800;&#x110000;&#0;", "\uFFFD\uFFFD\uFFFD"},
		{"script, style, title", "<title>t</title>a<script>s</script><style>s</style>b", "ab"},
		{"unclosed script", "a<script>if (x) { b", "a"},
		{"unclosed comment", "a<!-- b", "a"},
		{"noscript", "a<noscript>Enable JavaScript</noscript>b", "ab"},
		{"noframes and noembed", "a<noframes>b</noframes><noembed>c</noembed>d", "ad"},
		{"textarea", "a<textarea>b</textarea>c", "a c"},
		{"iframe", "a<iframe>b</iframe>c", "a c"},
		{"template", "a<template>b<template>c</template>d</template>e", "ae"},
		{"stray template end", "a</template>b", "ab"},
		{"svg", "a<svg><title>b</title><text>c</text></svg>d", "a d"},
		{"foreignObject", "<svg><foreignObject><p>a</p></foreignObject><text>b</text></svg>c", "a\nc"},
		{"unclosed svg", "a<svg><text>b<p>c", "a\nc"},
		{"math", "<math><mi>x</mi></math>", "x"},
		{"plaintext", "a<plaintext>b</plaintext> &lt;", "a\nb</plaintext> &lt;"},
		{"xmp", "<xmp><b>a</b></xmp>", "<b>a</b>"},
		{"lone angle", "a < b & c <3 <", "a < b & c <3 <"},
		{"CDATA", "a<![CDATA[b]]>c", "ac"},
		{"NUL and controls", "a\x00b\x01c\x7fd\u0085e", "abcd e"},
		{"invisible", "a\u00adb\u200bc\ufeffd\u2060e", "abcde"},
		{"joiners stay", "क्\u200dष", "क्\u200dष"},
		{"unknown elements", "<x-y>a</x-y><averyveryverylongelementname>b", "ab"},
		{"end tags with nothing", "</p></div>a</></ b>c", "ac"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := extractHTML(c.html).Text; got != c.want {
				t.Errorf("text %q, want %q", got, c.want)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	for _, c := range []struct{ name, html, want string }{
		{"collapsed", "<title>\n a &amp;\n b </title>", "a & b"},
		{"first", "<title>a</title><title>b</title>", "a"},
		{"first even if empty", "<title></title><title>b</title>", ""},
		{"markup is text", "<title>a<b>c</b></title>", "a<b>c</b>"},
		{"an icon's is not", "<svg><title>icon</title></svg><title>page</title>", "page"},
		{"unclosed", "<title>a", "a"},
		{"in noscript", "<noscript><title>a</title></noscript><title>b</title>", "b"},
		{"cut between characters", "<title>" + strings.Repeat("é", 600) + "</title>",
			strings.Repeat("é", 512)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := extractHTML(c.html).Title; got != c.want {
				t.Errorf("title %q, want %q", got, c.want)
			}
		})
	}
}

func TestXHTML(t *testing.T) {
	p := Extract(Input{URL: pageURL, ContentType: "application/xhtml+xml", Body: []byte(
		`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="nl"><head>` +
			`<title/><script src="s.js"/></head><body><p>a<![CDATA[ < b]]></p></body></html>`)}, Limits{})
	if p.Text != "a < b" || p.Language != "nl" || p.MIMEDetected != typeXHTML {
		t.Errorf("got %+v", p)
	}
	wantLinks(t, p, "script http://h.test/dir/s.js")
}

func TestTextLimit(t *testing.T) {
	p := Extract(Input{URL: pageURL, ContentType: "text/html; charset=utf-8",
		Body: []byte("<p>ab éé cd<a href=x>link")}, Limits{Text: 6})
	if p.Text != "ab é" {
		t.Errorf("text %q", p.Text)
	}
	wantLinks(t, p, "a http://h.test/dir/x")
	if p.Links[0].Anchor != "link" {
		t.Errorf("the anchor went with the text: %q", p.Links[0].Anchor)
	}
}

func TestContentHash(t *testing.T) {
	base := ContentHash("one two three")
	for name, text := range map[string]string{
		"case": "One TWO three", "lines": "one\ntwo\u00a0 three", "ends": " one two three\n",
	} {
		if ContentHash(text) != base {
			t.Errorf("%s changes the hash", name)
		}
	}
	for name, text := range map[string]string{
		"word": "one two four", "join": "onetwo three", "order": "two one three", "none": "",
	} {
		if ContentHash(text) == base {
			t.Errorf("%s does not change the hash", name)
		}
	}
	// Hashes are stored: XXH64 of "one two three" for ever.
	if base != xxhash.Sum64String("one two three") || base != 0x2a5335e7cb16ca63 {
		t.Errorf("hash of a known text is %#x", base)
	}
	upper, lower := "É"+strings.Repeat("X  Y\n", 1000), "é"+strings.Repeat("x y ", 1000)
	if ContentHash(upper) != ContentHash(lower) {
		t.Errorf("a long text is not hashed by the same rules")
	}
}

func words(n int, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]string, n)
	for i := range out {
		b := make([]byte, 3+r.IntN(6))
		for j := range b {
			b[j] = 'a' + byte(r.IntN(26))
		}
		out[i] = string(b)
	}
	return out
}

func TestSimHashNearAndFar(t *testing.T) {
	a := words(2000, 1)
	text := strings.Join(a, " ")
	h := SimHash(text)
	near := append([]string{}, a...)
	near[1000] = "changed"
	if d := HammingDistance(h, SimHash(strings.Join(near, " "))); d > 3 {
		t.Errorf("one word of 2,000 changed: distance %d", d)
	}
	if d := HammingDistance(h, SimHash(strings.Join(words(2000, 2), " "))); d < 16 {
		t.Errorf("other text: distance %d", d)
	}
	if SimHash(strings.ToUpper(text)) != h || SimHash(strings.Join(a, ", \n")) != h {
		t.Errorf("case or punctuation changes the sketch")
	}
	rev := append([]string{}, a...)
	for i, j := 0, len(rev)-1; i < j; i, j = i+1, j-1 {
		rev[i], rev[j] = rev[j], rev[i]
	}
	if d := HammingDistance(h, SimHash(strings.Join(rev, " "))); d < 16 {
		t.Errorf("order of words does not count: distance %d", d)
	}
}

func TestSimHashShort(t *testing.T) {
	seen := map[uint64]string{}
	for _, s := range []string{"", "a", "b", "a b", "b a", "a b c", "日", "日本", "本日"} {
		h := SimHash(s)
		if other, ok := seen[h]; ok {
			t.Errorf("%q and %q have one sketch", s, other)
		}
		seen[h] = s
	}
	if SimHash("") != 0 || SimHash("... !") != 0 {
		t.Errorf("no words must be 0")
	}
	// Sketches are stored: these are for ever.
	if got := SimHash("The quick brown fox jumps over the lazy dog"); got != 0x12e0d6230bf873cf {
		t.Errorf("sketch of a known text is %#x", got)
	}
}

// naiveSimHash counts each bit by itself.
func naiveSimHash(features []uint64) uint64 {
	var count [64]int
	for _, f := range features {
		for b := range count {
			if f>>b&1 == 1 {
				count[b]++
			} else {
				count[b]--
			}
		}
	}
	var out uint64
	for b, c := range count {
		if c > 0 {
			out |= 1 << b
		}
	}
	return out
}

func TestVotesEqualCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{0, 1, 2, 3, 64, 1000} {
		var v votes
		features := make([]uint64, n)
		for i := range features {
			features[i] = r.Uint64() & r.Uint64() // uneven, so that ties and majorities differ
			v.add(features[i])
		}
		if got, want := v.majority(), naiveSimHash(features); got != want {
			t.Errorf("%d features: %x, counting gives %x", n, got, want)
		}
	}
}

// A word longer than the scratch space is one word all the same.
func TestEachWordLong(t *testing.T) {
	long := strings.Repeat("abcdefghij", 40)
	var got []uint64
	eachWord("x "+long+" y", func(h uint64) { got = append(got, h) })
	if len(got) != 3 {
		t.Fatalf("%d words, want 3", len(got))
	}
	var other []uint64
	eachWord(long+"k", func(h uint64) { other = append(other, h) })
	if got[1] == other[0] {
		t.Errorf("the tail of a long word does not count")
	}
	if HammingDistance(0, ^uint64(0)) != 64 || HammingDistance(5, 5) != 0 {
		t.Errorf("HammingDistance is wrong")
	}
}
