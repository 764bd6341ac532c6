package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/weburl"
)

// batch is how many targets are looked up at once.
const batch = 256 << 10

// links holds the accepted links to urls: a target that was accepted is known.
func (a *auditor) links(ctx context.Context) error {
	r := lsm.URLs().NewReader(a.Open, a.m.Tables[schema.URLs], lsm.LookupOptions{KeysOnly: true})
	defer r.Close()
	targets := map[lsm.Key]layout.Key{} // key → an object that has such a link
	columns := []string{"src_domain", "src_host", "src_url", "dst_url", "dst_domain", "verdict"}
	var last schema.Link
	var in layout.Key
	err := eachPart(ctx, a, schema.Links, columns, func(o lsm.Object, row *schema.Link, at int64) error {
		if in == o.Key && byURL(last.SrcDomain, last.SrcHost, last.SrcURL, row.SrcDomain, row.SrcHost,
			row.SrcURL) > 0 {
			a.find("links", o.Key, fmt.Sprintf("row %d is out of order", at), nextReport)
		}
		last, in = *row, o.Key
		a.checked(schema.Links, 1)
		if row.Verdict != schema.Accepted {
			return nil
		}
		u, err := weburl.Normalize(row.DstURL, weburl.Options{})
		if err != nil || u.URL != row.DstURL {
			a.find("links", o.Key, fmt.Sprintf("row %d: accepted target %q is not in normal form", at, row.DstURL),
				nextReport)
			return nil
		}
		domain := strings.Clone(row.DstDomain)
		key := lsm.Key{Partition: weburl.Partition(domain), Domain: domain, Host: strings.Clone(u.Host),
			URL: strings.Clone(row.DstURL)}
		targets[key] = o.Key
		if len(targets) < batch {
			return nil
		}
		return a.known(ctx, r, targets)
	})
	if err != nil {
		return err
	}
	return a.known(ctx, r, targets)
}

// known looks the targets up, and empties the map.
func (a *auditor) known(ctx context.Context, r *lsm.Reader[schema.URL], targets map[lsm.Key]layout.Key) error {
	keys := make([]lsm.Key, 0, len(targets))
	for key := range targets {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, lsm.Key.Compare)
	found := make([]bool, len(keys))
	err := r.Lookup(ctx, keys, func(h lsm.Hit[schema.URL]) error {
		found[h.Index] = true
		return nil
	})
	if err != nil {
		return err
	}
	for i, ok := range found {
		if !ok {
			a.find("links", targets[keys[i]], fmt.Sprintf("the accepted target %s is not in urls", keys[i].URL),
				nextReport)
		}
	}
	clear(targets)
	return nil
}
