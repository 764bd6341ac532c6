// Package inject brings seeds into a crawl: it reads the JSON lines that a
// submit uploaded and writes urls, domains, hosts, seeds and the frontier.
//
// A new URL becomes a whole row of urls that is due at once. A known one takes
// over what the seed says of it (that it is a seed, the user's signal, and the
// priority that follows); it becomes due only if the job says so, or if it
// waited for nothing because the scope of an earlier day refused it. A seed
// that changes nothing writes nothing but its row in seeds. A URL that is removed
// from the seeds loses the user's signal and waits as before.
//
// The task is a function of the upload, the base snapshot and the spec. Lines
// are sorted on scratch and looked up in batches, so memory does not grow with
// the upload.
package inject
