// Package warc writes and reads web archives: WARC 1.1 (ISO 28500:2017), each record a gzip member
// of its own, so that one can be read by its offset and length alone.
//
// Guarantees:
//   - What [Writer.Write] returned is where the record is; a record is written whole or the writer
//     refuses all that follows, as its file's end is then unknown.
//   - The same record gives the same bytes: nothing here reads a clock or draws a random number.
//   - A header field is one line, whatever was in it; a target URI is visible ASCII.
//   - The payload digest is that of the payload without its chunked framing, so that the same page
//     has one digest however it was sent. Content codings, and gzip as a transfer coding, stay in.
//   - Reading trusts nothing: lengths are bounded, digests can be checked with [Record.Verify].
//
// Payloads are found by formats/warc/httpmsg, the same code with which they are fetched.
//
// A Writer and a Reader are used by one goroutine at a time; [ReadAt] by many.
package warc
