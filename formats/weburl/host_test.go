package weburl

import "testing"

// hosts has what the standard makes of a host, whatever way it is written.
var hosts = []struct{ name, raw, want string }{
	{"lower case", "EXAMPLE.Test", "example.test"},
	{"umlaut", "Bücher.test", "xn--bcher-kva.test"},
	{"decomposed umlaut", "Bu\u0308cher.test", "xn--bcher-kva.test"},
	{"sharp s is no ss", "faß.test", "xn--fa-hia.test"},
	{"punycode upper case", "XN--BCHER-KVA.test", "xn--bcher-kva.test"},
	{"punycode of ASCII", "xn--a-.test", refusedHost},
	{"bad punycode", "xn--zzzzzzz-.test", refusedHost},
	{"ideographic dot", "a。test", "a.test"},
	{"full width", "ｈ.test", "h.test"},
	{"soft hyphen is nothing", "a\u00adb.test", "ab.test"},
	{"only a soft hyphen", "\u00ad", refusedHost},
	{"escaped", "%68.test", "h.test"},
	{"escaped UTF-8", "b%C3%BCcher.test", "xn--bcher-kva.test"},
	{"escaped bad UTF-8", "b%FC.test", refusedHost},
	{"escaped slash", "a%2Fb", refusedHost},
	{"bad escape", "a%zz", refusedHost},
	{"double escape", "a%2541", refusedHost},
	{"underscore", "a_b.test", "a_b.test"},
	{"hyphens three and four", "r3---sn.test", "r3---sn.test"},
	{"odd but allowed", "a!$&'()*+,;=b", "a!$&'()*+,;=b"},
	{"angle", "a<b", refusedHost},
	{"caret", "a^b", refusedHost},
	{"bar", "a|b", refusedHost},
	{"trailing dot", "h.test.", "h.test."},
	{"two trailing dots", "h.test..", refusedHost},
	{"leading dot", ".h.test", refusedHost},
	{"empty label", "a..b", refusedHost},
	{"dot alone", ".", refusedHost},
	{"four parts", "192.168.000.1", "192.168.0.1"},
	{"octal", "0177.0.0.01", "127.0.0.1"},
	{"octal with a nine", "09.0.0.1", refusedHost},
	{"hexadecimal", "0xC0.0xA8.0x0.0x1", "192.168.0.1"},
	{"hexadecimal upper X", "0X7F.1", "127.0.0.1"},
	{"empty hexadecimal is zero", "0x.0x.0", "0.0.0.0"},
	{"one part", "3232235521", "192.168.0.1"},
	{"one part, most", "4294967295", "255.255.255.255"},
	{"one part, too much", "4294967296", refusedHost},
	{"far too much", "99999999999999999999999", refusedHost},
	{"last part fills", "192.168.257", "192.168.1.1"},
	{"last part too much", "192.168.65536", refusedHost},
	{"part too much", "256.0.0.1", refusedHost},
	{"five parts", "1.2.3.4.5", refusedHost},
	{"trailing dot of an address", "127.1.", "127.0.0.1"},
	{"number at the end", "a.1", refusedHost},
	{"bad hexadecimal at the end", "a.0xg", "a.0xg"},
	{"number in front", "1.a", "1.a"},
	{"loopback", "[::1]", "[::1]"},
	{"compressed", "[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]"},
	{"first of equal runs", "[1:0:0:2:3:0:0:4]", "[1::2:3:0:0:4]"},
	{"a lone zero stays", "[1:0:2:3:4:5:6:7]", "[1:0:2:3:4:5:6:7]"},
	{"zeros at the end", "[1:2:3:4:5:6:0:0]", "[1:2:3:4:5:6::]"},
	{"all zeros", "[0:0:0:0:0:0:0:0]", "[::]"},
	{"leading zeros, upper case", "[2001:0DB8::00AB]", "[2001:db8::ab]"},
	{"IPv4 inside", "[::ffff:192.168.0.1]", "[::ffff:c0a8:1]"},
	{"zone", "[fe80::1%25eth0]", refusedHost},
	{"nine pieces", "[1:2:3:4:5:6:7:8:9]", refusedHost},
	{"two gaps", "[1::2::3]", refusedHost},
	{"IPv4 in brackets", "[127.0.0.1]", refusedHost},
	{"not closed", "[::1", refusedHost},
	{"not opened", "::1]", refusedSyntax},
	{"text after", "[::1]x", refusedHost},
}

func TestHosts(t *testing.T) {
	for _, c := range hosts {
		t.Run(c.name, func(t *testing.T) {
			u, err := Parse("http://" + c.raw + "/")
			got := outcome(u, err)
			if err == nil {
				got = u.Host()
			}
			if got != c.want {
				t.Errorf("host %q = %s, want %s", c.raw, got, c.want)
			}
		})
	}
}
