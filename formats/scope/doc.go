// Package scope decides whether a URL is crawled. It is the one decision for seeds, links,
// redirects and sitemaps, and generate asks it again by the settings of the day.
//
// A Scope is built once from the settings and the seeds (New), and asked in any number of
// goroutines (Decide): data in, verdict out, no I/O, no clock. The answer to a URL has this
// order:
//
//  1. The scheme is http or https, else "scheme".
//  2. The ordered rules: the first that matches decides. A "+" rule lets in what lies outside
//     the scope of the seeds, a "-" rule keeps out what lies inside: "rule".
//  3. If none matches: the seeds themselves, then the scope of the seeds, else "out_of_scope".
//  4. The limits, which hold for whatever was let in, seeds and "+" rules included: "too_long"
//     or one of "trap_…".
//
// What is accepted carries a suspicion between 0 and 1, how near it is to the limits and how
// much it looks like a trap, by which generate demotes it: a trap is starved before it is
// refused. The same URL, domain and depth give the same verdict on every machine.
//
// The work for a URL does not grow with the seeds, nor with the rules other than regexp and file:
// domains and hosts are looked up in maps, prefixes by binary search; a file, however long, is one
// lookup for each label of the host.
package scope
