// Package fetch runs the fetch tasks: it asks web servers, with manners, for
// the URLs of a task's list, and leaves what they answered as sealed chunks that
// count exactly once.
//
// # A task
//
//	open the log ─▶ take over the spool ─▶ ask ─▶ … ─▶ merge discoveries ─▶ end
//	                                        │
//	           every outcome: one record in the spool (scratch disk)
//	                                        │  64 MiB or 5 s, …
//	           seal: WARC, fetches, pages, links, robots, discoveries ─▶ log entry
//
// An outcome counts from the moment when the log's entry that names its chunk
// is put. What is in the log or in the spool is never asked for again. See
// DESIGN.md beside this file for what a crash after each step leaves.
//
// # A URL
//
// robots.txt of the exact authority → the group's slot → DNS → an address that
// may be dialled → the address's own limits → one exchange → the body parsed.
// Each step can end the URL with a reason (formats/schema); nothing that the
// web does is an error of the task. Errors are those of the store, of the
// scratch disk, and ErrStaleAttempt, ErrLeaseLost, ErrDrained of jobs.
//
// Run may be called for many tasks at once with one Env. It returns when all
// that it started has ended.
package fetch
