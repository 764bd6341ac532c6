// Package catalogtest fabricates small crawls for tests of whoever reads tables:
// a Builder applies what jobs did to a few URLs and leaves the objects that such
// jobs leave (sorted runs with deltas, lists of superseded rows and sidecars,
// queues with cursors, append tables, archives, commits), all true to the musts.
// Small is one crawl of four jobs, with something of every kind in it.
//
// A Builder belongs to one goroutine; what it has built may be read by many. It
// panics where a test's input makes no sense.
package catalogtest
