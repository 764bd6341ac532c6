package robotstxt

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func utf16With(order binary.AppendByteOrder, mark bool, text string) string {
	var out []byte
	units := utf16.Encode([]rune(text))
	if mark {
		units = append([]uint16{0xFEFF}, units...)
	}
	for _, u := range units {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func TestAgents(t *testing.T) {
	two := "User-agent: *\nDisallow: /all\n\nUser-agent: MyBot\nDisallow: /mine\n"
	run(t, []check{
		{"own group only", two, "mybot", "/all", true},
		{"own group", two, "mybot", "/mine", false},
		{"others", two, "other", "/all", false},
		{"others, not theirs", two, "other", "/mine", true},
		{"case", two, "MYBOT", "/mine", false},
		{"version in the file", "User-agent: MyBot/2.0\nDisallow: /", "mybot", "/", false},
		{"version in the token", two, "MyBot/1.2 (+mail)", "/mine", false},
		{"comment after the name", "User-agent: MyBot crawler\nDisallow: /", "mybot", "/", false},
		{"shorter name is another", "User-agent: My\nDisallow: /", "mybot", "/", true},
		{"longer name is another", "User-agent: MyBotNews\nDisallow: /", "mybot", "/", true},
		{"digit makes another", "User-agent: MyBot2\nDisallow: /", "mybot", "/", true},
		{"several agents, star first", "User-agent: *\nUser-agent: Other\nDisallow: /a", "x",
			"/a", false},
		{"several agents, second", "User-agent: *\nUser-agent: Other\nDisallow: /a", "other",
			"/a", false},
		{"own before star", "User-agent: MyBot\nDisallow: /m\nUser-agent: *\nDisallow: /",
			"mybot", "/", true},
		{"merged, first",
			"User-agent: a\nDisallow: /1\nUser-agent: b\nDisallow: /2\nUser-agent: A\n" +
				"Disallow: /3", "a", "/1", false},
		{"merged, last",
			"User-agent: a\nDisallow: /1\nUser-agent: b\nDisallow: /2\nUser-agent: A\n" +
				"Disallow: /3", "a", "/3", false},
		{"merged, between",
			"User-agent: a\nDisallow: /1\nUser-agent: b\nDisallow: /2\nUser-agent: A\n" +
				"Disallow: /3", "a", "/2", true},
		{"stars merged", rules("Disallow: /1") + rules("Disallow: /2"), "x", "/1", false},
		{"no rules, no fall to star", "User-agent: *\nDisallow: /\nUser-agent: MyBot\n", "mybot",
			"/", true},
		{"empty disallow, no fall to star",
			"User-agent: MyBot\nDisallow:\nUser-agent: *\nDisallow: /",
			"mybot", "/", true},
		{"blank lines end nothing", "User-agent: *\n\n\nDisallow: /a\n\nDisallow: /b", "x", "/b",
			false},
		{"blank line between agents", "User-agent: a\n\nUser-agent: b\nDisallow: /", "a", "/",
			false},
		{"delay between agents", "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /", "a",
			"/", false},
		{"sitemap inside", "User-agent: *\nSitemap: /s.xml\nDisallow: /a", "x", "/a", false},
		{"unknown key inside", "User-agent: *\nNoindex: /n\nHost: h\nDisallow: /a", "x", "/a",
			false},
		{"unknown key between agents", "User-agent: a\nFoo: 1\nUser-agent: b\nDisallow: /", "a",
			"/", false},
		{"rule before any agent", "Disallow: /\nUser-agent: *\nDisallow: /a", "x", "/b", true},
		{"only rules, no agent", "Disallow: /", "x", "/", true},
		{"agent without a name", "User-agent:\nDisallow: /", "x", "/a", true},
		{"star and a word", "User-agent: * all\nDisallow: /a", "x", "/a", false},
		{"star in a name is no star", "User-agent: *bot\nDisallow: /a", "x", "/a", true},
		{"no token asks for star", rules("Disallow: /a"), "", "/a", false},
	})
}

func TestLines(t *testing.T) {
	want := "User-agent: *\nDisallow: /a\n"
	run(t, []check{
		{"UTF-8 mark", "\uFEFF" + want, "x", "/a", false},
		{"UTF-16LE mark", utf16With(binary.LittleEndian, true, want), "x", "/a", false},
		{"UTF-16BE mark", utf16With(binary.BigEndian, true, want), "x", "/a", false},
		{"UTF-16LE bare", utf16With(binary.LittleEndian, false, want), "x", "/a", false},
		{"UTF-16LE odd length", utf16With(binary.LittleEndian, true, want) + "x", "x", "/a", false},
		{"UTF-16LE beyond ASCII", utf16With(binary.LittleEndian, true, all+"Disallow: /ü"), "x",
			"/%C3%BC", false},
		{"CRLF", strings.ReplaceAll(want, "\n", "\r\n"), "x", "/a", false},
		{"CR", strings.ReplaceAll(want, "\n", "\r"), "x", "/a", false},
		{"no end of line", strings.TrimSpace(want), "x", "/a", false},
		{"comment in the line", all + "Disallow: /a # no", "x", "/a", false},
		{"comment joined", all + "Disallow: /a#no", "x", "/a", false},
		{"comment eats a rule", all + "#Disallow: /a", "x", "/a", true},
		{"no space", "User-agent:*\nDisallow:/a", "x", "/a", false},
		{"space before the colon", "User-agent : *\nDisallow : /a", "x", "/a", false},
		{"tabs", "\tUser-agent:\t*\n\tDisallow:\t/a\t", "x", "/a", false},
		{"indented", "  User-agent: *\n    Disallow: /a", "x", "/a", false},
		{"upper case", "USER-AGENT: *\nDISALLOW: /a", "x", "/a", false},
		{"Dissallow", all + "Dissallow: /a", "x", "/a", false},
		{"Dissalow", all + "Dissalow: /a", "x", "/a", false},
		{"Disalow", all + "Disalow: /a", "x", "/a", false},
		{"Diasllow", all + "Diasllow: /a", "x", "/a", false},
		{"Disallaw", all + "Disallaw: /a", "x", "/a", false},
		{"User agent", "User agent: *\nDisallow: /a", "x", "/a", false},
		{"Useragent", "Useragent: *\nDisallow: /a", "x", "/a", false},
		{"no colon", "User-agent *\nDisallow /a", "x", "/a", false},
		{"no colon, three words", all + "Disallow /a /b", "x", "/a", true},
		{"NUL inside", all + "Disal\x00low: /a", "x", "/a", false},
		{"NUL line", "\x00\x00\n" + want, "x", "/a", false},
		{"NUL after", all + "Disallow: /a\x00\n", "x", "/a", false},
		{"HTML page", "<!DOCTYPE html>\n<html><head><title>Not found: /</title>\n<p>Allow: us",
			"x", "/a", true},
		{"HTML before rules", "<pre>\n" + want, "x", "/a", false},
		{"binary", "\x1f\x8b\x08\x00\xff\xfe:\x00\n:\n::\n", "x", "/a", true},
		{"70 kB line", all + "Disallow: /" + strings.Repeat("x", 70_000) + "\nDisallow: /a", "x",
			"/a", false},
		{"full URL is no path", all + "Disallow: http://h.test/a", "x", "/a", true},
	})
}

func TestSitemaps(t *testing.T) {
	f := Parse([]byte("Sitemap: /s.ashx\nUser-agent: *\nDisallow: /\n" +
		"SITEMAP:http://o.test/s?a=b:c\n" +
		"Site-map: x.xml # c\nSitemap:\nSitemap: /s.ashx\nSitemap /t.xml\n"))
	want := []string{"/s.ashx", "http://o.test/s?a=b:c", "x.xml", "/t.xml"}
	if diff := cmp.Diff(want, f.Sitemaps()); diff != "" {
		t.Error(diff)
	}
}

func TestCut(t *testing.T) {
	fill := func(n int) string { return strings.Repeat("#", n-1) + "\n" }
	t.Run("a rule beyond the limit", func(t *testing.T) {
		g := Parse([]byte(all + fill(MaxBytes) + "Disallow: /a\n")).Agent("x")
		if !g.Decide("/a").Allowed {
			t.Error("it is obeyed: the file was read beyond MaxBytes")
		}
	})
	t.Run("a rule before it", func(t *testing.T) {
		g := Parse([]byte(rules("Disallow: /a") + fill(2*MaxBytes))).Agent("x")
		if g.Decide("/a").Allowed {
			t.Error("it is lost")
		}
	})
	t.Run("a rule across it", func(t *testing.T) {
		head := all + fill(MaxBytes-len(all)-len("Disallow: /"))
		g := Parse([]byte(head + "Disallow: /secret\n")).Agent("x")
		if d := g.Decide("/a"); !d.Allowed {
			t.Errorf("half a rule forbids everything: %+v", d)
		}
	})
	t.Run("a rule that ends there", func(t *testing.T) {
		rule := "Disallow: /secret"
		g := Parse([]byte(all + fill(MaxBytes-len(all)-len(rule)) + rule)).Agent("x")
		if g.Decide("/secret").Allowed {
			t.Error("a file of exactly MaxBytes lost its last line")
		}
	})
}

// TestMemory bounds what a File and a Group hold after the worst files.
func TestMemory(t *testing.T) {
	for name, body := range map[string]string{
		"short rules": all + strings.Repeat("Allow:/\n", 64_000),
		"wildcards":   all + strings.Repeat("Allow:/*?%3a\n", 39_000),
		"agents":      strings.Repeat("User-agent:a\n", 39_000) + "Disallow: /",
		"groups":      strings.Repeat("User-agent:a\nAllow:/\n", 24_000),
		"stars":       all + "Disallow: " + strings.Repeat("*", 500_000),
		"encoded":     all + "Disallow: /" + strings.Repeat("\xff", 500_000),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			f := Parse([]byte(body))
			g := f.Agent("a")
			runtime.GC()
			runtime.ReadMemStats(&after)
			if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 24<<20 {
				t.Errorf("%d bytes held for a body of %d", held, len(body))
			}
			runtime.KeepAlive(f)
			runtime.KeepAlive(g)
		})
	}
}

// TestText: what is kept of a body says what the body said, and can be stored as text.
func TestText(t *testing.T) {
	for name, body := range map[string]string{
		"plain":        "User-agent: *\nDisallow: /a\n",
		"UTF-8 mark":   "\xEF\xBB\xBFUser-agent: *\nDisallow: /a\n",
		"UTF-16 LE":    "\xFF\xFE" + strings.Join(strings.Split("User-agent:*\nDisallow:/a\n", ""), "\x00") + "\x00",
		"Latin-1":      "User-agent: *\nDisallow: /caf\xe9\n",
		"broken UTF-8": "User-agent: *\nDisallow: /\xe2\x82\n",
		"UTF-8":        "User-agent: *\nDisallow: /café\n",
		"NULs":         "User-agent: *\nDisallow: /\x00a\n",
		"too long":     "User-agent: *\nDisallow: /b\n#" + strings.Repeat("x", MaxBytes) + "\nDisallow: /a\n",
	} {
		kept := Text([]byte(body))
		if !utf8.Valid(kept) || strings.Contains(string(kept), "\x00") || len(kept) > MaxBytes {
			t.Errorf("%s: %q cannot be stored", name, kept)
		}
		before, after := Parse([]byte(body)).Agent("x"), Parse(kept).Agent("x")
		for _, path := range []string{"/", "/a", "/b", "/caf%E9", "/caf%C3%A9", "/%E2%82"} {
			if b, a := before.Decide(path), after.Decide(path); a.Allowed != b.Allowed || a.Line != b.Line {
				t.Errorf("%s: %s: %+v became %+v", name, path, b, a)
			}
		}
	}
}
