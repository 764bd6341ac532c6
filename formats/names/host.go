package names

import (
	"fmt"
	"strings"

	"seine/formats/weburl"
)

// Host brings a host as a person writes it to the form that URLs have.
func Host(value string) (string, error) {
	if plain(value) {
		return value, nil
	}
	u, err := weburl.Parse("http://" + value + "/")
	if err != nil {
		return "", err
	}
	n := u.Normalize(weburl.Options{})
	port := strings.Contains(value, ":") && !strings.HasSuffix(value, "]")
	if port || n.Path != "/" || strings.ContainsAny(value, "/\\?#@") {
		return "", fmt.Errorf("%q is not a host name: leave out scheme, port and path", value)
	}
	return n.Host, nil
}

// plain says whether a name is surely in its normal form: labels of a–z, 0–9 and
// inner hyphens, none in Punycode, and a last one that makes it no address. Most
// names of large lists are.
func plain(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		n := len(label)
		if n == 0 || n > 63 || label[0] == '-' || label[n-1] == '-' || n > 3 && label[2:4] == "--" {
			return false
		}
		for i := range n {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last[0] >= 'a'
}
