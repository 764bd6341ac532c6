// Package resolve finds the addresses of hosts by DNS, and knows which addresses may be dialled.
//
// A Resolver asks the servers it was given, or the system's, and public ones when those fail; IPv4
// and IPv6 side by side; twice, each try with its own time-out; by TCP where an answer was cut. It
// keeps answers by their TTL within bounds, negative ones too, and asks once however many callers
// want the same name at the same time. One Resolver serves all tasks and rounds of a process.
//
// Answers are taken for hostile: an answer to another question is none, only records on the chain
// of aliases from the name asked count, chains and their loops are cut, and the number of addresses
// is bounded. What an answer says of the address itself is believed by nobody: Public tells which
// addresses lie on the public network, and the dialler asks it for each address it dials.
//
// Only this package knows miekg/dns. A Resolver is safe for concurrent use; Lookup starts at most
// one goroutine and waits for it. Memory is bounded by Settings.CacheEntries.
package resolve
