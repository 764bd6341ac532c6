// Package bloom is the sidecar of a sorted run's object: it tells, without
// reading the object, in which page a key would lie and whether it may be there.
//
// A sidecar is made of groups, one for each 64 Ki rows of the object: the first
// key of each page, front-coded, and a Bloom filter of all keys (at most 1 %
// false positives, never a false negative). A small index at the end names the
// groups by their first keys, so a reader fetches the index once and then, by
// range, the parts of the few groups that it needs:
//
//	filter 0 | filter 1 | … | page keys 0 | page keys 1 | … | index | trailer
//	filter  = 64-bit words, little-endian, crc32c
//	page keys = for each page: rows, bytes shared with the key before, rest,
//	          rest's bytes; crc32c
//	index   = for each group: pages, rows, lengths of keys and filter, bits,
//	          hashes, first key (front-coded against the group before)
//	trailer = length of the index, its crc32c, "SEINBLM1"
//
// Integers are varints. Keys are opaque bytes that ascend as bytes do
// (formats/lsm encodes them so). Every part is checked before it is used: a
// damaged sidecar is ErrCorrupt, and as it holds nothing that its object does
// not, it can be rebuilt.
//
// A Writer and a File belong to one goroutine each. The package hides the
// filters' library.
package bloom
