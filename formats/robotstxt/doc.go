// Package robotstxt reads robots.txt as RFC 9309 says and decides what a crawler may ask for. What
// asks the web (mapper) and what chooses from the tables (reducer) both decide by it.
//
// Parse turns the bytes of a file into a File and never fails: a file that is damaged, is an HTML
// page or is no text at all yields the rules that can still be understood. File.Agent merges the
// groups that speak to one product token into a Group, whose Decide answers for a path and query.
// Rules are a Group together with the Outcome of asking for the file: without a file there is
// nothing to parse, and still a decision. When files are asked for is not decided here.
//
// # What decides
//
// The matching rule with the longest pattern wins, and Allow wins a tie. Patterns match from the
// start of the path; '*' is any run of bytes, a final '$' is the end. Lengths are counted after
// patterns and paths were brought to one percent-encoded form (see canonical), so that /%7Ea, /~a
// and ü, %C3%BC, %c3%bc are each the same. Queries are matched as they stand: never sorted, cut or
// decoded. The queries of URLs in normal form are sorted, though, so a rule that names several
// parameters also speaks in that order: /*?b=1&a=2 forbids /p?a=2&b=1 too, which is what a link to
// /p?b=1&a=2 becomes. /robots.txt itself is always allowed.
//
// Where RFC 9309 leaves a choice, Google's published parser is followed: misspelt keys, a missing
// colon, a product token cut before its version. Crawl-delay, which the RFC does not know, belongs
// to the agents named above it in its group; of several, the longest counts.
//
// # Bounds and concurrency
//
// Parse reads MaxBytes and drops what follows, with the line that the cut went through, since half
// a rule would be another rule. A File takes a small multiple of the bytes read. A decision costs
// O(path) for each rule with wildcards and O(path · log rules) for all the others together: no
// pattern makes it backtrack. All functions are pure; a File and a Group never change and may be
// used by many goroutines.
package robotstxt
