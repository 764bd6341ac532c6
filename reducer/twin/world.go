package twin

import (
	"cmp"
	"maps"
	"slices"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/weburl"
)

// World is the state of a crawl.
type World struct {
	URLs    map[lsm.Key]schema.URL // whole rows
	Domains map[lsm.Key]schema.Domain
	Hosts   map[lsm.Key]schema.Host
	Robots  map[lsm.Key]schema.Robots
	Runs    []Run // oldest first
	Seeds   []schema.Seed
}

// Run is a run of the frontier: its rows in its order, of which the first
// Consumed[p] of each partition p are gone.
type Run struct {
	ID       string
	Kind     string
	Seq      uint64
	Rows     []schema.FrontierRow
	Consumed map[uint16]int
}

// New is a world of nothing.
func New() *World {
	return &World{URLs: map[lsm.Key]schema.URL{}, Domains: map[lsm.Key]schema.Domain{},
		Hosts: map[lsm.Key]schema.Host{}, Robots: map[lsm.Key]schema.Robots{}}
}

// Left gives the rows of partition p that a run has left, in its order.
func (r *Run) Left(p uint16) []schema.FrontierRow {
	var rows []schema.FrontierRow
	for _, row := range r.Rows {
		if uint16(row.Partition) == p {
			rows = append(rows, row)
		}
	}
	return rows[min(r.Consumed[p], len(rows)):]
}

// Sort brings the run's rows into the order of its kind.
func (r *Run) Sort() {
	compare := lsm.CompareWaiting
	if r.Kind == schema.Ready {
		compare = lsm.CompareReady
	}
	slices.SortFunc(r.Rows, func(a, b schema.FrontierRow) int { return compare(&a, &b) })
}

// Key is the key of a row in urls.
func Key(p int32, domain, host, url string) lsm.Key {
	return lsm.Key{Partition: uint16(p), Domain: domain, Host: host, URL: url}
}

// PutURL sets a row of urls.
func (w *World) PutURL(row schema.URL) {
	w.URLs[Key(row.Partition, row.Domain, row.Host, row.URL)] = row
}

// PutDomain sets a row of domains.
func (w *World) PutDomain(row schema.Domain) {
	w.Domains[Key(row.Partition, row.Domain, row.Host, "")] = row
}

// PutHost sets a row of hosts.
func (w *World) PutHost(row schema.Host) {
	w.Hosts[Key(row.Partition, row.Domain, row.Host, "")] = row
}

// PutRobots sets a row of robots.
func (w *World) PutRobots(row schema.Robots) { w.Robots[lsm.RobotsTable().Key(&row)] = row }

// sortedRows gives the rows of a table in key order.
func sortedRows[R any](rows map[lsm.Key]R) []R {
	keys := slices.SortedFunc(maps.Keys(rows), lsm.Key.Compare)
	out := make([]R, len(keys))
	for i, k := range keys {
		out[i] = rows[k]
	}
	return out
}

func sortSeeds(seeds []schema.Seed) {
	slices.SortStableFunc(seeds, func(a, b schema.Seed) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Host, b.Host),
			cmp.Compare(a.URL, b.URL), cmp.Compare(a.Raw, b.Raw))
	})
}

func partition(domain string) int32 { return int32(weburl.Partition(domain)) }
