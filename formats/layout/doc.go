// Package layout names the objects of a crawl: every key that Seine writes is
// built here and parsed here, nowhere else.
//
//	crawl                                   what a crawl is: format, normaliser, suffix list
//	settings/VVVVVVVV                       a version of the settings
//	commits/NNNNNNNNNN                      commit N; no gaps; of old ones the head
//	LATEST                                  a hint: the last commit its writer knew
//	copy                                    a copy into this store has begun and not ended
//	uploads/DIGEST                          what a submit (seeds) or a setting (lists) brings along
//	rounds/RRRRRRRR/spec                    the spec of job R, put once
//	rounds/RRRRRRRR/STAGE/TTTT/end          the end of a task that is a function, put once
//	rounds/RRRRRRRR/STAGE/TTTT/aE-N/NAME    what an attempt wrote
//	rounds/RRRRRRRR/fetch/TTTT/log/LLLLLL   a fetch task's log
//
// Numbers are fixed width, so keys sort as the numbers do. No key is a prefix
// folder of another, so a directory and every S3 server can hold them. The
// package is pure and safe for concurrent use.
package layout

import (
	"fmt"
	"strconv"
	"strings"
)

// Key is the key of an object, relative to the crawl's prefix.
type Key = string

// Fixed objects of a crawl.
const (
	Crawl  Key = "crawl"
	Latest Key = "LATEST"
	Copy   Key = "copy"
)

// CommitPrefix and RoundPrefix are the folders that are ever listed.
const (
	CommitPrefix   = "commits/"
	RoundPrefix    = "rounds/"
	SettingsPrefix = "settings/"
	UploadPrefix   = "uploads/"
)

// Attempt orders the tries of one task: by epoch, then by number.
type Attempt struct {
	Epoch uint64 `json:"epoch"`
	N     uint64 `json:"n"`
}

// Less says whether a is older than b.
func (a Attempt) Less(b Attempt) bool {
	return a.Epoch < b.Epoch || a.Epoch == b.Epoch && a.N < b.N
}

// String prints the attempt fixed width, so that keys sort as attempts do.
func (a Attempt) String() string { return fmt.Sprintf("a%06d-%04d", a.Epoch, a.N) }

// Settings is the key of a version of the settings; versions start at 1.
func Settings(version uint64) Key { return fmt.Sprintf("%s%08d", SettingsPrefix, version) }

// Commit is the key of commit n.
func Commit(n uint64) Key { return fmt.Sprintf("%s%010d", CommitPrefix, n) }

// Upload is the key of bytes brought along by a submit or a setting, named by their
// digest.
func Upload(digest string) Key { return UploadPrefix + digest }

// Job is the folder of a writing job, with a slash at its end.
func Job(job uint64) string { return fmt.Sprintf("%s%08d/", RoundPrefix, job) }

// Spec is the key of a job's spec.
func Spec(job uint64) Key { return Job(job) + "spec" }

// Stage is the folder of one stage of a job, with a slash at its end.
func Stage(job uint64, stage string) string { return Job(job) + stage + "/" }

// Task is the folder of one task, with a slash at its end.
func Task(job uint64, stage string, task int) string {
	return fmt.Sprintf("%s%04d/", Stage(job, stage), task)
}

// End is the key of the end object of a task that is a function.
func End(job uint64, stage string, task int) Key { return Task(job, stage, task) + "end" }

// Output is the key of one object that an attempt writes.
func Output(job uint64, stage string, task int, a Attempt, name string) Key {
	return Task(job, stage, task) + a.String() + "/" + name
}

// Log is the key of entry n of a fetch task's log.
func Log(job uint64, task, n int) Key {
	return fmt.Sprintf("%slog/%06d", Task(job, "fetch", task), n)
}

// ParseCommit reads a commit's number back from its key.
func ParseCommit(k Key) (uint64, error) { return parseNumber(k, CommitPrefix, 10) }

// ParseSettings reads a settings version back from its key.
func ParseSettings(k Key) (uint64, error) { return parseNumber(k, SettingsPrefix, 8) }

// ParseSpec reads a job's number back from its spec's key.
func ParseSpec(k Key) (uint64, error) {
	rest, ok := strings.CutSuffix(k, "/spec")
	if !ok {
		return 0, fmt.Errorf("key %q is no spec", k)
	}
	return parseNumber(rest, RoundPrefix, 8)
}

// ParseJob reads the number of the job that a key below rounds/ belongs to.
func ParseJob(k Key) (uint64, error) {
	rest, ok := strings.CutPrefix(k, RoundPrefix)
	number, _, slash := strings.Cut(rest, "/")
	if !ok || !slash {
		return 0, fmt.Errorf("key %q is below no round", k)
	}
	return parseNumber(RoundPrefix+number, RoundPrefix, 8)
}

func parseNumber(k Key, prefix string, width int) (uint64, error) {
	digits, ok := strings.CutPrefix(k, prefix)
	if !ok || len(digits) < width {
		return 0, fmt.Errorf("key %q is no %sNUMBER", k, prefix)
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || strings.HasPrefix(digits, "+") {
		return 0, fmt.Errorf("key %q is no %sNUMBER", k, prefix)
	}
	return n, nil
}
