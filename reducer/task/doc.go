// Package task is what the reducer's tasks share: the world they run in (Env),
// the outputs they write, a sort that spills, and the estimators that more
// than one kind of task asks (priority, rank, recrawl interval).
//
// Every task of the reducer is a function of committed objects and of its
// job's spec. What an attempt writes goes to scratch first, then whole to the
// store under keys that only this attempt uses; nothing of it is visible until
// the task's end object is put and the job's commit names it:
//
//	Create → Write… → Finish    scratch file → rounds/R/STAGE/TTTT/aE-N/NAME
//	Env.Finish                  rounds/R/STAGE/TTTT/end, put if absent
//	crash before Finish         scratch only; files are unlinked when made
//	crash before the end        orphans of an attempt; swept later
//	crash after the end         the next attempt meets the end and reports it
//
// Two attempts of one task write byte-identical objects and equal ends but for
// the keys, so it does not matter whose end is first.
//
// An Env may be used by any number of tasks at once; outputs and sorters
// belong to one goroutine.
package task
