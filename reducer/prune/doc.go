// Package prune takes out of the append tables what retention does not keep.
// It changes the manifest only; objects go when sweep finds that no kept
// snapshot names them any more, so readers have their grace and every kept
// snapshot can be restored.
//
//	parts before a time ──▶ without lists, fetches, dead_letters (links: own time)
//	pages ─ by URL, newest first ─▶ rows beyond the kept versions are dead
//	a part's pages object, a third of it dead ──▶ written anew without them
//	archives of a part without fetches:
//	    nothing live ........... out of the manifest
//	    less than a third live . its live records move to a new archive, and
//	                             pages and urls follow
//	    else ................... stays
//	settled parts, adjacent and of one tier of size ──▶ one part
//
// An archive's record is live when a row of pages that stays points to it; while
// a part has its fetches, each of its records has a row there and all stay. Of a
// content the newest row is kept, so the body that urls points to is never dead.
// Rows of seeds and rounds always stay. Settled is a part of which age takes nothing
// more; joined, its pages, rounds and live records are one object each.
//
// The job is one task over all partitions, because whether an archive is worth
// rewriting is a question about the whole of it. It is a function of the base
// snapshot and the spec. It reads key columns of all pages, and whole rows only
// of what it rewrites; what grows with the crawl goes through sorters that spill.
package prune
