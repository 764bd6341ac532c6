// Package transfer copies a crawl from one store to another: from a directory
// into a bucket, out of it, or between two of a kind. The copy is the crawl as it
// was at a snapshot, open rounds included, so that whoever starts a coordinator
// on it goes on where the source stood.
//
// # Order
//
// Nothing is visible before what it names:
//
//	copy        the claim: which crawl is being copied here (put if absent)
//	data        settings, uploads, all that attempts wrote
//	records     logs and ends of tasks, each log in its order
//	specs       in the order of their numbers
//	commits     in the order of their numbers
//	crawl       from here on the store is a crawl
//	LATEST      the hint; the claim is removed
//
// Killed after any put, the destination is no crawl, or the whole one. The same
// command goes on: what is there with the right size stays, since objects never
// change and puts are whole or not at all.
//
// # A source that is being written
//
// Records are listed before data, so what a listed record names was there when
// the data were listed. Commits above the snapshot and what their jobs wrote
// afterwards are left out. What the sweep deletes meanwhile is an error only
// where the snapshot names it.
//
// The package knows commits and keys, not tables. A Copy may not be shared by
// goroutines; it starts some and waits for them.
package transfer
