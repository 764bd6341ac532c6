package extract

import (
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

// in encodes text.
func in(t *testing.T, name, text string) string {
	t.Helper()
	enc, _ := charset.Lookup(name)
	out, err := enc.NewEncoder().String(text)
	if err != nil {
		t.Fatalf("encode as %s: %v", name, err)
	}
	return out
}

func TestCharset(t *testing.T) {
	russian := in(t, "windows-1251", "Привет")
	for _, c := range []struct {
		name, header, body, charset, text string
	}{
		{"BOM beats header", "text/html; charset=iso-8859-1", "\xef\xbb\xbf<p>é", "utf-8", "é"},
		{"UTF-16LE BOM", "text/html; charset=utf-8", "\xff\xfe<\x00p\x00>\x00\xe9\x00", "utf-16le", "é"},
		{"UTF-16BE BOM", "text/html", "\xfe\xff\x00<\x00p\x00>\x00\xe9", "utf-16be", "é"},
		{"header beats meta", "text/html; charset=windows-1251",
			"<meta charset=utf-8><p>" + russian, "windows-1251", "Привет"},
		{"meta pragma, nothing guessed first", "text/html",
			`<meta http-equiv=Content-Type content="text/html; charset=windows-1251"><p>` + russian,
			"windows-1251", "Привет"},
		{"content before http-equiv", "text/html",
			`<meta content="text/html; charset = 'windows-1251'" http-equiv="CONTENT-TYPE"><p>` + russian,
			"windows-1251", "Привет"},
		{"meta content without pragma does not count", "text/html",
			`<meta name=x content="text/html; charset=windows-1251"><p>é`, "utf-8", "é"},
		{"script's charset does not count", "text/html",
			`<script charset="utf-8" src=x></script><meta charset=iso-8859-15><p>` + "\xa4",
			"iso-8859-15", "€"},
		{"string in a script does not count", "text/html",
			`<script>var s = '<meta charset=utf-16>charset=utf-16'</script><p>é`, "utf-8", "é"},
		{"comment does not count", "text/html", "<!-- <meta charset=koi8-r> --><p>é", "utf-8", "é"},
		{"meta behind 1,024 bytes", "text/html", "<style>" + strings.Repeat("x", 3000) +
			"</style><meta charset=koi8-r><p>" + in(t, "koi8-r", "Да"), "koi8-r", "Да"},
		{"meta in the body does not count", "text/html",
			"<body><meta charset=koi8-r><p>é", "utf-8", "é"},
		{"meta beats valid UTF-8", "text/html", "<meta charset=windows-1252><p>é", "windows-1252",
			"Ã©"},
		{"utf-16 in meta is utf-8", "text/html", "<meta charset=utf-16le><p>é", "utf-8", "é"},
		{"utf8", "text/html; charset=utf8", "<p>é", "utf-8", "é"},
		{"UTF-8;", "text/html; charset=UTF-8;", "<p>é", "utf-8", "é"},
		{"quotes", `text/html; charset="utf-8"`, "<p>é", "utf-8", "é"},
		{"single quotes", `text/html;charset='koi8-r'`, "<p>" + in(t, "koi8-r", "Да"), "koi8-r",
			"Да"},
		{"none is ignored", "text/html; charset=none", "<meta charset=koi8-r><p>" +
			in(t, "koi8-r", "Да"), "koi8-r", "Да"},
		{"second charset where the first is unknown", "text/html; charset=none; charset=koi8-r",
			"<p>" + in(t, "koi8-r", "Да"), "koi8-r", "Да"},
		{"x-sjis", "text/html; charset=x-sjis", "<p>" + in(t, "shift_jis", "日本"), "shift_jis",
			"日本"},
		{"gb2312 is gbk", "text/html; charset=GB2312", "<p>" + in(t, "gbk", "镕"), "gbk", "镕"},
		{"latin1 is windows-1252", "text/html; charset=ISO-8859-1", "<p>\x80", "windows-1252", "€"},
		{"big5", "text/html", "<meta charset=big5><p>" + in(t, "big5", "中文"), "big5", "中文"},
		{"euc-kr", "text/html; charset=ks_c_5601-1987", "<p>" + in(t, "euc-kr", "한국"), "euc-kr",
			"한국"},
		{"undeclared UTF-8 beyond 1,024 bytes", "text/html",
			"<p>" + strings.Repeat("a ", 1000) + "é", "utf-8", strings.Repeat("a ", 1000) + "é"},
		{"undeclared, one bad byte at the end", "text/html", "<p>é" + strings.Repeat(" a", 1000) +
			"\xe9", "windows-1252", "Ã©" + strings.Repeat(" a", 1000) + "é"},
		{"undeclared ASCII", "text/html", "<p>x", "utf-8", "x"},
		{"declared UTF-8 that is not", "text/html; charset=utf-8", "<p>a\xe9b", "utf-8", "a\uFFFDb"},
		{"x-user-defined in meta", "text/html", "<meta charset=x-user-defined><p>\xe9",
			"windows-1252", "é"},
		{"XML declaration", "application/xhtml+xml", `<?xml version="1.0" encoding="koi8-r"?><html` +
			` xmlns="http://www.w3.org/1999/xhtml"><p>` + in(t, "koi8-r", "Да"), "koi8-r", "Да"},
		{"XML declaration in HTML comes after meta", "text/html",
			`<?xml version='1.0' encoding='koi8-r'?><meta charset=utf-8><p>é`, "utf-8", "é"},
		{"meta in text/plain does not count", "text/plain", "<meta charset=koi8-r>é", "utf-8",
			"<meta charset=koi8-r>é"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Extract(Input{URL: pageURL, ContentType: c.header, Body: []byte(c.body)}, Limits{})
			if p.Charset != c.charset || p.Text != c.text {
				t.Errorf("charset %q text %q, want %q %q", p.Charset, p.Text, c.charset, c.text)
			}
		})
	}
}

// A body cut inside a character is still UTF-8; one that ends in a lone byte by itself is not.
func TestCharsetTruncated(t *testing.T) {
	body := []byte("<p>é\xc3")
	for _, c := range []struct {
		truncated bool
		want      string
	}{{true, "utf-8"}, {false, "windows-1252"}} {
		in := Input{URL: pageURL, ContentType: "text/html", Body: body, Truncated: c.truncated}
		if got := Extract(in, Limits{}).Charset; got != c.want {
			t.Errorf("truncated %v: %q, want %q", c.truncated, got, c.want)
		}
	}
	declared := Input{URL: pageURL, ContentType: "text/html; charset=utf-8", Body: body}
	declared.Truncated = true
	if p := Extract(declared, Limits{}); p.Text != "é" || len(p.ParseErrors) != 1 {
		t.Errorf("declared and cut: text %q, faults %v", p.Text, p.ParseErrors)
	}
	legacy := Input{URL: pageURL, ContentType: "text/html; charset=iso-8859-1",
		Body: []byte("<p>a\xe9"), Truncated: true}
	if got := Extract(legacy, Limits{}).Text; got != "aé" {
		t.Errorf("the last byte of a single-byte charset is lost: %q", got)
	}
}

// Valid UTF-8 is not copied.
func TestDecodeSharesMemory(t *testing.T) {
	body := []byte("<p>plain")
	for _, header := range []string{"text/html", "text/html; charset=utf-8"} {
		if d := decode(body, header, typeHTML, false); &d.text[0] != &body[0] {
			t.Errorf("%s: copied", header)
		}
	}
}

func TestQueryInPageCharset(t *testing.T) {
	for _, c := range []struct{ charset, href, want string }{
		{"iso-8859-1", "?q=é", "http://h.test/dir/page.html?q=%E9"},
		{"iso-8859-1", "/é?q=é", "http://h.test/%C3%A9?q=%E9"},
		{"windows-1251", "?q=Да", "http://h.test/dir/page.html?q=%C4%E0"},
		{"windows-1252", "?q=Ж", "http://h.test/dir/page.html?q=%26%231046%3B"},
		{"shift_jis", "?q=日", "http://h.test/dir/page.html?q=%93%FA"},
		{"utf-8", "?q=é", "http://h.test/dir/page.html?q=%C3%A9"},
		{"utf-16", "?q=é", "http://h.test/dir/page.html?q=%C3%A9"},
	} {
		t.Run(c.charset+" "+c.href, func(t *testing.T) {
			enc, _ := charset.Lookup(c.charset)
			body, err := enc.NewEncoder().Bytes([]byte(`<a href="` + c.href + `">x</a>`))
			if err != nil {
				t.Fatal(err)
			}
			p := Extract(Input{
				URL: pageURL, ContentType: "text/html; charset=" + c.charset, Body: body,
			}, Limits{})
			if strings.Contains(c.href, "Ж") { // the encoder wrote a reference, as an author would
				if p.Links[0].Href != c.href {
					t.Errorf("href %q", p.Links[0].Href)
				}
			}
			wantLinks(t, p, "a "+c.want)
		})
	}
}
