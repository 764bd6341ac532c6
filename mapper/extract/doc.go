// Package extract says what a response body says: its kind, its character set, title, text and
// language, the links it makes and the wishes it states about indexing and following.
//
// Extract makes one pass over the tokens of a body that is already freed of content codings. Plain
// tokens it finds itself, the odd ones it leaves to the HTML tokenizer; they come out the same.
// Sitemap reads what robots.txt or a person calls a sitemap: XML, feeds, plain lists, gzipped or
// not. Both are pure functions of their arguments: no I/O, no clock, no globals, so any number of
// goroutines may call them at once. Neither fails and neither panics, whatever the bytes: the worst
// answer is a page without text or a sitemap without entries.
//
// Guarantees: every string returned is valid UTF-8 and bounded by Limits; Link.URL is empty or an
// absolute URL that weburl parses, without fragment; time and memory are linear in the body.
//
// The package follows browsers where browsers decide something (character set, base, refresh,
// URL resolution, what a tag means) with scripting off: noscript is parsed, scripts are not run.
// It alone knows golang.org/x/net/html, its charset tables and golang.org/x/text.
//
// # Text
//
// Text is what a reader sees, near enough: blocks on lines of their own, white space (Unicode's,
// NBSP included) collapsed, entities decoded, control characters gone. It leaves out title, script,
// style, template, textarea, iframe and svg content, and that of noscript and noframes, whose links
// do count: "please enable JavaScript" would otherwise make every page of an application a
// duplicate of the others. Elements hidden by CSS are not known to be hidden. PDF and other binary
// formats are detected and have no text.
package extract
