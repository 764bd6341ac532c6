// Package polite decides which politeness group may be sent a request, and when.
//
// A Queue holds the URLs of one fetch task by group (a registered domain, or a host by setting) and
// hands out one at a time: at most one request a group is in flight, and the next is granted no
// earlier than the delay after the last byte of the answer, or after giving up on it (Done). The
// delay is what the settings, a Crawl-delay and the floor say, whichever is longest; nothing that a
// server does makes it shorter, so a host that answers 404 in a millisecond is not asked faster.
// robots.txt and every hop of a redirect take a slot like any other request.
//
//	                   Next: earliest slot first
//	    ┌─ waiting ─────────────────────────────▶ in flight
//	    │  (heap by slot)                             │
//	Add ┤      ▲                                      │ Done(at, outcome)
//	    │      └── slot = at + delay ─────────────────┤ OK, Failed
//	    │      └── slot = at + Retry-After or back-off┤ BackOff
//	    │      └── slot unchanged: nothing was sent ──┤ Unsent
//	    └────▶ left ◀── slot beyond the hard stop, ───┘ five ConnectFailures,
//	           (Left)   or one URL sent under a Crawl-delay above LongDelay
//
// Groups are served in order of their slots, so when workers are scarcer than groups the one that
// waited longest goes first and none starves. Inside a group order is that of Add, with what
// AddFirst brought (robots.txt) in front.
//
// Addresses bounds what one worker does to one address, whatever names lead there. ParseRetryAfter
// reads the header. A Runner drives a Queue with goroutines and the real (or a bubble's) clock.
//
// A Queue is a plain data structure driven by the caller's now: no goroutines, no clock, not safe
// for concurrent use. Next, Add and Done cost O(log groups). Memory is one T an item and about 200
// bytes a group. Runner and Addresses are safe for concurrent use.
package polite
