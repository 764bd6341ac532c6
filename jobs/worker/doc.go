// Package worker lives tasks: it claims them, keeps their leases with
// heartbeats, runs them, and finishes them or gives them up. What a task does
// is the Runner's affair; whom it asks is behind Conn, in the same process or
// over a network.
//
// # Leases
//
// A task is lent for 15 s at a time. The worker counts from the moment at which
// it *sent* the last heartbeat that was acknowledged, and ends 3 s early, by the
// monotonic or the wall clock, whichever says that more time went by: a machine
// that slept, or whose monotonic clock stands still, loses its leases as it
// should. The coordinator counts from when the heartbeat came, which is later.
// So, as long as no clock runs a fifth too slow, the worker has stopped before
// another is given the task. A lapsed lease never revives, not even by an
// acknowledgement that comes after all.
//
// Lease.Gate is to be asked in Write of every connection dialled for the task:
// below TLS, so that no request leaves after the lease. Not promised: a process
// that is stopped between the question and the write.
//
// # Ends
//
// A runner that returns a result is reported complete; an error is reported as
// failed, with its text. jobs.ErrStaleAttempt is dropped in silence: somebody
// else has the task. A drain (the first Ctrl-C) asks fetch tasks by Lease.Drain
// to seal and return jobs.ErrDrained; the context of the others, which can be
// done again, ends at once. Neither counts as a failure. When the context of Run
// ends, everything does.
//
// Run waits for all that it started. A Lease and a Progress may be used by many
// goroutines.
package worker
