package extract

// SitemapURL is one entry of a sitemap.
type SitemapURL struct {
	// Loc is the entry's address, resolved against the sitemap's own; entries that do not resolve
	// are left out.
	Loc string
	// LastMod, ChangeFreq and Priority are as written, trimmed; empty when absent.
	LastMod, ChangeFreq, Priority string
}

// SitemapResult is what a sitemap says.
type SitemapResult struct {
	URLs     []SitemapURL
	Sitemaps []string // of a sitemapindex, resolved
	Feed     bool     // it was RSS or Atom
	// Truncated says that entries over a limit, or those behind a broken tail, are missing.
	Truncated bool
}

// Sitemap reads a sitemap. body may be gzipped, whatever contentType says; url is its address.
func Sitemap(body []byte, contentType, url string, l Limits) SitemapResult {
	return SitemapResult{}
}
