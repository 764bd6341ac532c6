// Package httpmsg reads HTTP/1 messages as browsers do, from a connection or from a WARC record.
//
// It knows three things and nothing else: where a header block ends and what it says
// ([ReadHead], [ParseHead]), how long the body is ([Head.Framing]) and what a chunked body holds
// ([Chunked]). The fetcher and the archive's reader share it, so the payload that was parsed, the
// payload that is digested and the payload that is read back are the same bytes by construction.
//
// Guarantees: nothing here panics or allocates beyond the caller's bounds, whatever the input; what
// browsers accept is accepted (lines without a colon, folded lines, LF alone, NULs, names outside
// the token alphabet, repairable lengths); reading the same bytes again gives the same answer.
//
// Only the chunked transfer coding is removed here. gzip as a transfer coding, which no browser
// asks for, is left to whoever undoes the content codings: archives keep it in the payload too.
//
// A value is used by one goroutine at a time; the functions are pure.
package httpmsg
