// Package generate cuts a round's lists from the frontier: the best due URLs
// within the round's budget and each domain's (DESIGN §7).
//
// For each partition of a task's range:
//
//	waiting ──due prefix──▶ moved ─┐
//	                               ├─ merged by rank ─▶ pop ─▶ decide
//	ready ──────prefix─────────────┘                           │
//	   not live ............ dropped                           │
//	   not due ............. back to waiting, as it was        │
//	   refused by today's scope ... a final row of its own     │
//	   or by a valid robots.txt ... the same                   │
//	   domain backs off .... waiting until then                │
//	   domain has no room .. waiting for the domain's slot     │
//	   else ................ list                              ▼
//
// It stops at the partition's quota or at its limit of pops, and what was moved
// and not popped is ready from now on. Quotas (Quotas) are a pure function of
// the manifest, so that the tasks agree without talking.
//
// Everything is a function of the base snapshot and the round's spec: batches,
// memory and attempts do not show in the outputs. Memory is bounded by
// Env.Memory plus some 30 bytes a popped URL of the partitions at hand.
package generate
