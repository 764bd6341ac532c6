// Package tasklog is the log of a fetch task: what a task's attempts did, as entries that are
// written once under numbered keys, from which anybody can tell which of the task's objects
// count. It is pure but for a port of two methods, which any store of write-once registers
// fits.
//
//	log/0  open  e000001-a0001
//	log/1  chunk e000001-a0001 seq 0   counts
//	log/2  open  e000001-a0002         from here the first attempt is fenced
//	log/3  chunk e000001-a0002 seq 0   counts
//	log/4  end   e000001-a0002         names every chunk that counts, and the events
//
// # Guarantees
//
// An entry, once put, never changes, and numbers have no gaps: a writer puts only at the first
// number that it found free, and only after it has read every lower one. So the log is one
// total order on which all writers agree, and:
//
//   - Fencing. Once a writer's Open has returned, no chunk of a lower attempt can begin to count:
//     it would have to win a number above the new attempt's open entry, and to get there its
//     writer must read that entry, and stops (ErrStaleAttempt). What a lower attempt put before
//     is in the State that Open returned.
//   - Nothing twice. A put whose answer was lost is recognised when it is repeated: the number
//     is taken, by the very same bytes. Chunks are known by (attempt, seq), and the second of
//     two is ignored.
//   - The first end is the end. No entry after it counts.
//
// An attempt must have one writer at a time; attempts are granted once. A Writer is for one
// goroutine; Decode, Encode, Replay and Read are for any number.
package tasklog
