package requeue

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/weburl"
)

// unblocked requeues what blocks kept away that are gone: the rows of urls that
// ended as blocked, that one of these blocks fits, and that no block of the
// job's settings keeps away still. Only the partitions of the blocks' domains
// are read.
func (r *requeueing) unblocked(ctx context.Context, whats []string) error {
	gone, err := scope.NewBlocks(whats)
	if err != nil {
		return err
	}
	still, err := settings.NewBlocklist(r.settings.Blocks, r.task.Spec.Now)
	if err != nil {
		return err
	}
	for _, part := range r.partitions(whats) {
		err := lsm.URLs().Scan(ctx, r.env.Open, r.manifest.Tables[schema.URLs], part, nil,
			func(row *schema.URL, refs []lsm.Ref) error {
				if row.Reason != schema.Blocked {
					return nil
				}
				u, err := weburl.Normalize(row.URL, weburl.Options{})
				if err != nil {
					return fmt.Errorf("URL in urls: %w", err)
				}
				if _, was := gone.Match(u); !was || still.Find(u) != nil {
					return nil
				}
				r.end.Counts[countRequeued]++
				return r.url(ctx, *row, slices.Clone(refs))
			})
		if err != nil {
			return fmt.Errorf("look for blocked URLs: %w", err)
		}
	}
	return r.leave(ctx)
}

// partitions are the parts of the task's range that hold what the blocks fit, in
// order: one partition for each, all of them for a block above registered
// domains, such as a whole top level.
func (r *requeueing) partitions(whats []string) (parts []layout.Range) {
	var numbers []uint16
	for _, what := range whats {
		kind, value, _ := strings.Cut(what, ":")
		host, _, _ := strings.Cut(value, "/")
		if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
			host = host[:i]
		}
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		below := "x." + host
		if kind == scope.KindDomain && err != nil && r.env.Suffixes.Domain(below) == below {
			return []layout.Range{r.task.Range}
		}
		p := weburl.Partition(r.env.Suffixes.Domain(host))
		if r.task.Range.Holds(p) {
			numbers = append(numbers, p)
		}
	}
	slices.Sort(numbers)
	for _, p := range slices.Compact(numbers) {
		parts = append(parts, layout.Range{Lo: p, Hi: p + 1})
	}
	return parts
}
