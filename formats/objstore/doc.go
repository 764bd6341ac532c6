// Package objstore is the port to the object store: the only way by which the rest of the
// crawler reads and writes what lasts. It is a small contract that a directory, an S3 bucket
// and a map can all keep exactly, the error classes on which callers branch, and what every
// caller needs on top of it: joined range reads (Open), a disk cache of ranges (Cache),
// counting (Counter), retries (Retry) and a check that put-if-absent really holds (Probe).
//
// # Guarantees
//
//   - A put is atomic: a reader sees the old object (or none) or the whole new one.
//   - A put with IfAbsent has one winner among any number of racing creators, over processes
//     and machines; the losers get ErrExists and change nothing.
//   - Reads follow writes: what a returned put made visible, every later read and list sees.
//   - List gives keys in the order of their bytes.
//
// # Errors
//
// ErrNotExist, ErrExists, ErrUnavailable and ErrFull are all that a caller may branch on;
// anything else (a bad key, no permission, a broken disk) stops the task. ErrNotExist and
// ErrExists also match io/fs's sentinels, so that packages which must not know this one can
// share its answers.
//
// # What may be retried
//
// An error says nothing of whether the operation happened, unless it is ErrNotExist, ErrExists
// or ErrFull. Every operation may be repeated: Get, ReadAt, Stat, List and Delete without a
// thought; a put without IfAbsent as long as nobody else writes the key. A put with IfAbsent
// may be repeated too, but then ErrExists may speak of our own first try: see PutOptions.Same.
//
// All implementations and decorators run the conformance suite in storetest, and may be used by
// any number of goroutines. None starts a goroutine that outlives the call that started it.
package objstore
