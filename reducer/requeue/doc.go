// Package requeue makes known URLs wait again: it reads the targets that a
// submit uploaded and gives each known one a new ticket and due time. URLs that
// nobody knows are counted, never added.
//
//	targets ──sorted, once a URL──▶ upload ──a range a task──▶ joined with urls
//	                                                               │
//	                                urls', frontier', domains' ◀───┘
//
// Targets may also be found in the base: what lifted blocks kept away, and, where
// politeness groups have room, what they kept back as domain_full.
//
// What had been refused (scope, rules, traps, blocks) or kept back is PENDING again and is
// judged by the rules of the round that takes it; a URL that had failed keeps
// its status until it is asked for, and gets its retries anew.
//
// A task is a function of the upload, the base snapshot and the spec; memory is
// that of a batch. Targets may be used by one goroutine.
package requeue
