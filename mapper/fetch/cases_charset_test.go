package fetch

import (
	"strings"
	"testing"

	"seine/formats/settings"
)

// TestCharsets has section E of the field's cases.
func TestCharsets(t *testing.T) {
	const привет = "\xcf\xf0\xe8\xe2\xe5\xf2" // in windows-1251
	for _, c := range []struct{ name, kind, body, charset, title string }{
		{"a meta element alone", "text/html",
			`<meta http-equiv=Content-Type content="text/html; charset=windows-1251"><title>` +
				привет + "</title>", "windows-1251", "Привет"},
		{"the charset of a script is not the page's", "text/html",
			`<script charset="utf-8" src=x>"charset=utf-16"</script>` +
				"<meta charset=iso-8859-15><title>\xa4</title>", "iso-8859-15", "€"},
		{"the header wins", "text/html; charset=windows-1251", "<meta charset=utf-8><title>" +
			привет + "</title>",
			"windows-1251", "Привет"},
		{"a mark wins over the header", "text/html; charset=windows-1251",
			"\xef\xbb\xbf<title>é</title>", "utf-8", "é"},
		{"UTF-8 whose first letter comes late", "text/html", "<p>" + strings.Repeat("x", 3000) +
			"<title>é</title>", "utf-8", "é"},
		{"bytes that are no UTF-8, late", "text/html", "<p>" + strings.Repeat("x", 3000) +
			"<title>\xe9</title>", "windows-1252", "é"},
		{"utf8 without hyphen", "text/html; charset=utf8", "<title>é</title>", "utf-8", "é"},
		{"quotes and semicolons", `text/html; charset="utf-8";`, "<title>é</title>", "utf-8", "é"},
		{"none", "text/html; charset=none", "<title>é</title>", "utf-8", "é"},
		{"x-sjis", "text/html; charset=x-sjis", "<title>\x93\xfa\x96\x7b</title>", "shift_jis", "日本"},
		{"gb2312 is gbk", "text/html; charset=gb2312",
			"<title>\xd6\xd0\xb9\xfa</title>", "gbk", "中国"},
		{"utf-16 in a meta element is utf-8", "text/html", "<meta charset=utf-16><title>é</title>",
			"utf-8", "é"},
		{"latin1 is windows-1252", "text/html; charset=latin1", "<title>\x93x\x94</title>",
			"windows-1252", "“x”"},
		{"UTF-16 with a mark", "text/html", utf16le("<title>é</title>"), "utf-16le", "é"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/"] = typed(c.kind, c.body)
			trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
				l *left) {
				p, ok := l.page("http://h.test/")
				if !ok || p.Charset != c.charset || p.Title != c.title {
					t.Errorf("page %v: charset %q, title %q; want %q, %q", ok, p.Charset, p.Title, c.charset,
						c.title)
				}
			})
		})
	}
}
