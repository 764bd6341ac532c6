// Package audit proves, from the objects of a store alone, what of the design's
// musts can be proved so: that commits have no gap and apply again, that every
// object they name is there, that sorted runs are sorted and folded by the rules,
// that the frontier and the waiting URLs are one to one, that every listed URL had
// its turn or waits, that pages have their fetches and archives, and that counts
// add up.
//
// Run checks one snapshot. It writes nothing, but for sidecars that are damaged,
// and those only if asked: a sidecar is a cache of its object, so its key, alone
// of all, may be written again. What is wrong is data (Finding), each with the
// object to blame and what to do next; an error means that the audit itself could
// not go on. A damaged object ends the check that met it, not the others.
//
// Memory follows one slice of partitions of some million rows, the queued rows of
// one partition, and one bit a row of what is superseded.
package audit
