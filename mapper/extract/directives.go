package extract

import "strings"

// directives are the wishes about indexing and following that a page states about itself.
type directives struct{ noIndex, noFollow bool }

// add reads a list of directives, comma or space between them.
func (d *directives) add(list string) {
	for f := range strings.FieldsFuncSeq(list, isListSeparator) {
		d.one(f)
	}
}

func (d *directives) one(word string) {
	switch strings.ToLower(word) {
	case "noindex":
		d.noIndex = true
	case "nofollow":
		d.noFollow = true
	case "none":
		d.noIndex, d.noFollow = true, true
	}
}

func isListSeparator(r rune) bool {
	return r == ',' || r == ';' || strings.ContainsRune(asciiSpace, r)
}

// addHeader reads one X-Robots-Tag value. "name: list" is for the crawler of that name only, and
// a new name may follow in the same value, where proxies have joined several headers by commas.
func (d *directives) addHeader(value, token string) {
	ours := true
	for item := range strings.SplitSeq(value, ",") {
		if name, rest, ok := strings.Cut(item, ":"); ok {
			name = strings.Trim(name, asciiSpace)
			if hasValue(name) {
				continue
			}
			ours = namesUs(name, token)
			item = rest
		}
		if ours {
			d.add(item)
		}
	}
}

// hasValue reports the directives that are themselves written "name: value".
func hasValue(name string) bool {
	switch strings.ToLower(name) {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return true
	}
	return false
}

// namesUs reports whether a crawler's name is all crawlers' or ours.
func namesUs(name, token string) bool {
	return name == "*" || strings.EqualFold(name, "robots") || strings.EqualFold(name, token)
}

// canonicalHeader finds the target of rel=canonical in Link headers (RFC 8288).
func canonicalHeader(values []string) string {
	for _, v := range values {
		for {
			_, rest, ok := strings.Cut(v, "<")
			if !ok {
				break
			}
			target, params, ok := strings.Cut(rest, ">")
			if !ok {
				break
			}
			end := strings.IndexByte(params, '<') // the next link of the list
			if end < 0 {
				end = len(params)
			}
			if hasCanonicalRel(params[:end]) {
				return strings.Trim(target, asciiSpace)
			}
			v = params[end:]
		}
	}
	return ""
}

func hasCanonicalRel(params string) bool {
	for p := range strings.FieldsFuncSeq(params, isParamEnd) {
		key, val, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.Trim(key, asciiSpace), "rel") {
			continue
		}
		val = strings.ToLower(strings.Trim(val, asciiSpace+`"`))
		if (Link{Rel: val}).HasRel("canonical") {
			return true
		}
	}
	return false
}

// languageTag is a declared language as a lower-case tag, empty if it is none or several.
func languageTag(s string) string {
	s = strings.ToLower(strings.Trim(s, asciiSpace))
	if len(s) < 2 || len(s) > 35 || s[0] < 'a' || s[0] > 'z' {
		return ""
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
		case c == '_':
			return languageTag(strings.ReplaceAll(s, "_", "-"))
		default:
			return ""
		}
	}
	return s
}
