package generate

import (
	"context"
	"fmt"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/weburl"
	"seine/reducer/task"
)

// A site that serves the same pages at http and https is asked once for each: at https, or where a
// page was first had.

// twins looks up the other scheme's URLs of the live rows, where the host has answered there: the
// robots.txt of that authority tells. A crawl that meets only one scheme looks nothing up.
func (g *generation) twins(ctx context.Context, batch []chunk,
	known map[lsm.Key]*schema.URL) (map[lsm.Key]*schema.URL, error) {
	if g.settings.BothSchemes {
		return nil, nil
	}
	var keys []lsm.Key
	of := map[lsm.Key]lsm.Key{}
	for _, c := range batch {
		for i := range c.rows {
			row := &c.rows[i].row
			key := task.FrontierKey(row)
			if !g.takes(row) || !live(row, known[key]) {
				continue
			}
			authority, _ := authorityOf(row)
			authority.URL = weburl.SchemeTwin(authority.URL)
			if g.rules.served[authority] {
				twin := key
				twin.URL = weburl.SchemeTwin(key.URL)
				keys, of[twin] = append(keys, twin), key
			}
		}
	}
	keys = distinct(keys)
	twins := map[lsm.Key]*schema.URL{}
	err := g.tables.twins.Lookup(ctx, keys, func(hit lsm.Hit[schema.URL]) error {
		row := hit.Row
		twins[of[keys[hit.Index]]] = &row
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look up URLs at the other scheme: %w", err)
	}
	return twins, nil
}

// place is where a URL stands beside the same one at the other scheme.
type place int

const (
	alone     place = iota // it goes its own way
	isTwin                 // the other has the page
	afterTwin              // the other goes first
)

// beside compares a live URL with its twin, which may be nil. At http it gives way to one at https
// that was had, and waits for one that has not had its turn; at https it gives way only as long as
// it was never asked for.
func beside(url, twin *schema.URL) place {
	if twin == nil {
		return alone
	}
	had := twin.Reason == schema.OK || twin.Reason == schema.NotModified
	plain := strings.HasPrefix(url.URL, "http://")
	switch {
	case had && (plain || url.CrawlCount == 0):
		return isTwin
	case plain && url.CrawlCount == 0 && twin.Reason == "" && twin.Queued != 0:
		return afterTwin
	}
	return alone
}
