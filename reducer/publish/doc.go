// Package publish ends a job: it merges what the job's tasks left into one edit
// of the manifest and puts it as the next commit, which makes the snapshot
// visible whole or not at all (DESIGN §9). It also creates and opens crawls.
//
//	ends of the tasks ──Edit──▶ edit ──NewCommit──▶ commits/N, put if absent
//	                                                  │ there already:
//	                                                  ├ this job's: done
//	                                                  └ another's: ErrStepDown
//
// Publish does all of it and may be repeated after any error: a commit that was
// put although the answer was lost is found again. An edit is a function of the
// ends, the head and the job's outcome; only the rounds row holds the time.
//
// The package is safe for concurrent use; two publishers of one job race for
// one key, and one of them wins.
package publish
