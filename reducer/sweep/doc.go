// Package sweep deletes what nobody can need any more.
//
// What a crawl keeps is what its kept snapshots name: those younger than the
// retention, the one that was the newest when the retention began, the last few
// whatever their age, and the base of every open round. Below rounds/ the rest
// goes:
//
//	rounds/R/STAGE/T/aE-N/NAME  of a closed round, 24 h old, and named by no kept
//	                            snapshot: an attempt that did not count, or rows
//	                            that a merge has replaced
//	rounds/R/STAGE/T/end        of a closed round and as old as the retention
//	rounds/R/fetch/T/log/N      likewise
//
// Commits that no kept snapshot is read through, 24 h old, expire: each is cut to
// its head, a few hundred bytes. None is deleted: readers walk along them and find
// the end by them, and a number that were free again could be put a second time by
// whoever slept for long.
//
// Everything else stays: specs (they number the jobs), settings, uploads. Whatever
// does not parse is not ours to delete.
//
// A round is closed once a commit of it or of a later job is there and the
// caller does not hold it open. Plan is pure; Run lists, plans and deletes, and
// stops when another group of coordinators has taken the crawl over. A sweep may
// end anywhere and be repeated; two at once do no harm.
package sweep
