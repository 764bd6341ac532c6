// Package fold is the reduce stage of a round: it folds what a range's URLs met
// on the web, and the links that lead into the range, into the tables.
//
//	sealed chunks of the range ──▶ fetches, pages, links (one object each)
//	        │                      robots: the newest of each authority
//	        ▼ facts, sorted by key
//	facts ─┐
//	lists ─┼─ merged by key ─▶ batches ─▶ joined with urls ─▶ whole rows, deltas
//	events ┘                                     │
//	                                             ├─▶ frontier: waiting, ready
//	                                             └─▶ tallies ─▶ domains, hosts
//
// A URL of the merge is one of these:
//
//	final row ............ a new whole row, due by the one table schema.Policies
//	listed, not asked for  queued again with its old ticket; its row stays
//	target, known ........ a delta row, and a new ticket if its rank rose by 1/16
//	target, unknown ...... a new row, ready at once
//
// Every listed URL must have exactly one final row or wait again; else the task
// fails and names the URL, for then an input is damaged.
//
// The task is a function of the objects that it names and of the spec: all
// schedules start from the spec's now, sums are integers, inputs are sorted by
// whole rows. It reads the pages of the tables that hold the round's URLs,
// targets, domains and hosts, and of the frontier only what it merges. Memory
// is bounded by Env.Memory: whatever grows with the round goes through sorters
// that spill; only back-offs, the authorities whose robots.txt was out of reach,
// and one domain's exchange times are held, some 100 bytes each.
package fold
