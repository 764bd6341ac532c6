// Package names holds lists of millions of domains and hosts, and says in well
// under a microsecond whether a host is on one.
//
// A person's file has a name a line: a domain, which stands for all below it as
// well, or host:NAME, which stands for itself alone. Blank lines and lines that
// start with # say nothing; a # after a space begins a remark. Parse brings it to
// the form that is kept: the same number of lines, each empty or a name as URLs
// have it, so that a line is found again by its number.
//
// A List is that text and a hash table of its lines: five bytes a slot and a slot
// and a half a name, so that five million domains of sixteen bytes take some
// 125 MB. It never changes and may be asked by many goroutines.
package names
