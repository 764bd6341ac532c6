// Package lsm keeps the sorted-run tables of a crawl: the manifest that says
// which runs a snapshot has, batched lookup, scan, merge, and the pick of what
// to compact.
//
// # Rows
//
// A Run is all that one job wrote for a table: objects of rows in key order,
// each key once, with a sidecar (formats/bloom). A row is whole, or a delta that
// adds to an older whole row. Runs have an age; what a key is, is the fold of its
// rows: the newest whole row, with the deltas that are newer than it added,
// oldest first. Deltas older than the newest whole row are in it already.
//
//	run, oldest first   r1        r2        r3        r4
//	rows of a key       whole     delta     whole     delta
//	                    └──── superseded ───┘ folded: └ + ┘
//
// # Superseded rows
//
// Readers that fold by key (all of this package) need no more than the runs.
// Views must not fold, so each object may name, in its Superseded object, rows of
// other objects that no longer count. The rule: over all objects of a manifest,
// the lists name, of the manifest's rows, exactly the whole rows that are not the
// newest whole row of their key, and the deltas that are older than it. Names of
// objects that the manifest does not have say nothing. So the rows not named are
// one whole row a key, and the deltas still to be folded.
//
// A job that writes whole rows lists, for each, Hit.Refs of its key: the rows
// that counted before. Merging adjacent runs M, with older runs O and younger
// runs Y staying, keeps the rule so (Table.Merge):
//
//   - rows of M that have a younger whole row, in M or in Y, are not written:
//     lists of Y that name them name nothing now;
//   - so no row of the output is superseded when it is written;
//   - lists of M that name rows of O are carried over into the output's list.
//
// If a job commits between the merge's base and its commit, its rows may replace
// rows of the output: Table.Supersedes finds these, by looking the younger run's
// whole rows up in the output; they are added to the output's list before it is
// committed. The same call mends the list of a job whose base had M where the
// head has the output.
//
// # Use
//
// Everything streams: memory follows blocks of keys and pages, not runs. What is
// read through an Opener may be cached; objects never change. Tables, manifests
// and commits are values; a RunWriter, QueueWriter, Reader or Sorter belongs to
// one goroutine. Damage is an error that wraps rowfile.ErrCorrupt and names the
// object; a damaged sidecar is passed over (the run is read instead) and counted.
package lsm
