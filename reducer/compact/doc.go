// Package compact merges runs of the tables: the tasks of a compact job.
//
// A job names, for each table, runs adjacent in age (lsm.Pick chose them). Each
// task writes what they hold in its range as one object:
//
//	older runs │ runs to merge  │ younger runs
//	           │ a  b  c  d     │
//	           ▼       │        ▼
//	  deltas without a │    keys with a whole row here
//	  whole row stay   │    are left out: younger lists of
//	  deltas, folded   │    superseded rows named them, and
//	  into one         ▼    those names die with the old objects
//	              one object, and the list of the rows of
//	              older runs that it supersedes
//
// The tables say the same before and after. The task is a function of the
// objects that the manifest names and of the spec, streams, and shows nothing
// before the job's commit. Run may be called for many tasks at once.
package compact
