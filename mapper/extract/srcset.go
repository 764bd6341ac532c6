package extract

import "bytes"

// maxCandidates is how many images of one srcset are taken.
const maxCandidates = 64

// srcsetURLs returns the URLs of a srcset attribute (WHATWG "parsing a srcset attribute"):
// candidates are divided by commas, but a comma inside a URL or in parentheses divides nothing.
func srcsetURLs(val []byte) [][]byte {
	var urls [][]byte
	for len(urls) < maxCandidates {
		val = bytes.TrimLeft(val, asciiSpace+",")
		if len(val) == 0 {
			break
		}
		end := bytes.IndexAny(val, asciiSpace)
		if end < 0 {
			end = len(val)
		}
		url := val[:end]
		val = val[end:]
		if bare := bytes.TrimRight(url, ","); len(bare) < len(url) {
			url = bare // the candidate ends here, it has no descriptor
		} else {
			val = skipDescriptors(val)
		}
		if len(url) > 0 {
			urls = append(urls, url)
		}
	}
	return urls
}

// skipDescriptors drops what stands up to the comma that ends a candidate.
func skipDescriptors(val []byte) []byte {
	inParens := false
	for i, c := range val {
		switch {
		case c == '(':
			inParens = true
		case c == ')':
			inParens = false
		case c == ',' && !inParens:
			return val[i+1:]
		}
	}
	return nil
}
