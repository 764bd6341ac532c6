// Package http1 makes one HTTP/1.1 exchange: a GET and the response that a browser would accept.
// Where a server has nothing but HTTP/2, it makes it by that, one on a connection, and gives the
// same message in the form of HTTP/1.1.
//
// It exists because net/http refuses responses that browsers show, and because an archive wants the
// bytes as they came. A [Client] sends exactly one request for each [Client.Do]; it follows no
// redirect, repeats nothing, keeps no cookie and sends no credential and no Referer.
//
// Guarantees:
//   - No byte leaves unless the request's [Gate] agrees at that moment: it is asked in Write of
//     the dialled connection, below TLS.
//   - Once the head of a response was read, its trouble is data: Do returns the [Response] with
//     what came, marked in Truncated and Fault. Before that, trouble is an [*Error] with a [Code];
//     so is the end of the caller's context, always. Other errors are this machine's own: no room
//     for a spilled body.
//   - Certificates are verified, whatever the settings say.
//   - Every wait ends by the settings' times; every buffer by their sizes. While a response comes,
//     it holds at most SpillBytes of its body in memory (with a SpillDir); decoding comes after,
//     from what was kept.
//
// It hides connection reuse: at most one idle connection for each pool key, closed when idle too
// long (looked at when the client is next used) and by [Client.CloseIdle].
//
// A Client may be used by many goroutines; a Response by one. No goroutine outlives Do.
package http1
