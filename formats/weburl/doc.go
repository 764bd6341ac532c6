// Package weburl parses URLs as browsers do, brings them to the one form that Seine keys and
// fetches by, and finds the registered domain of a host.
//
// Parse, URL.Resolve and URL.ResolveQuery follow the URL Standard of the WHATWG for http and
// https; any other scheme is recognised and refused by name. Three things differ from the
// standard, each on purpose: credentials are dropped while parsing, so that no key, log or
// record can hold a password; a "%" in a path that starts no escape becomes "%25"; a host with
// an empty label ("a..b") is refused, for no resolver can answer it.
//
// URL.Normalize gives the normal form (NORMALIZE.md lists its rules, by number). The normal
// form is the key of every table and at the same time what is asked for on the wire and what
// robots.txt is matched against: there is no second spelling of a URL anywhere. Normalising is
// idempotent: Normalize(n.URL) gives n back. What it does is fixed by NormalizerVersion, which
// a crawl pins when it is created, and by the Unicode tables of golang.org/x/net/idna for hosts
// that are not ASCII.
//
// Suffixes answers with the registered domain by the text of a Public Suffix List, which a crawl
// pins as well, so that an upgrade never moves a domain.
//
// Everything here is pure and safe for concurrent use: URL, Normal and Suffixes never change.
// A URL may share memory with the string it was parsed from. Plain URLs, which is most of the
// web, take a path that copies at most once.
package weburl
