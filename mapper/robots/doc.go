// Package robots decides when an authority's robots.txt is asked for, and what the answer means.
//
// Policy says what the end of a request for robots.txt comes down to (parse, allow all, forbid all)
// and when to ask again; a Record is what is kept of it, in the table robots too. What the rules of
// a file then forbid is decided by formats/robotstxt. ParseRobotsTag reads X-Robots-Tag headers and
// <meta name=robots> values, which are another protocol: they speak of indexing and links, never of
// whether a URL may be fetched. All functions are pure.
package robots
