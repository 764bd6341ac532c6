// Package node wires the parts of Seine into a process: it opens stores and
// crawls, gives the coordinator its view of the store (Ledger), gives a worker
// the runners of all stages, and runs both in one process (Embed). The parts do
// not know each other; this package alone knows them all. It holds no logic of
// its own beyond the joints.
package node

// Version is the version of this build, in user agents and archives.
const Version = "0.1.0"

// Software names this build as RFC 9110 names products.
const Software = "seine/" + Version
