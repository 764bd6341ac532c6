package fold

import (
	"context"
	"fmt"
	"slices"

	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

const (
	// batchItems is how many keys are looked up at once: enough that a page of
	// urls is read once for many of them.
	batchItems = 8192
	// itemBytes is about what an item takes with its row of urls.
	itemBytes = 4096
)

// linkColumns are the columns of urls that links can change, and those that say
// how.
var linkColumns = []string{"priority", "depth", "last_crawled", "next_crawl", "why", "visits",
	"changes", "inlinks", "user_signal", "queued", "queued_rank"}

// otherColumns are the rest: what only a row that is written anew needs.
func otherColumns() []string {
	table := lsm.URLs()
	known := slices.Concat(linkColumns, table.Always, table.KeyColumns)
	return slices.DeleteFunc(rowfile.Columns[schema.URL](), func(name string) bool {
		return slices.Contains(known, name)
	})
}

// item is what is known of one key: of a URL, or of a group where the URL is
// empty.
type item struct {
	key    lsm.Key
	listed bool
	list   schema.List
	facts  []fact // in their order
	final  *fact  // of facts: the URL's final row
	page   *fact  // the body that came with it
	left   *fact  // the URL waits again
	links  links

	known bool
	old   schema.URL // folded; all columns where there is a final row, else linkColumns
	refs  []lsm.Ref
}

// links is what the discoveries of a URL come down to.
type links struct {
	any       bool
	inlinks   int64 // distinct domains that link to it for the first time
	source    string
	first     bool // a row of source was a first visit
	depth     int32
	suspicion float32
	seed      string
	// atLeast is the best priority of a source that says the URL stands for it: by
	// redirect or as its canonical form.
	atLeast float32
}

// add takes discoveries in the order of their source domains.
func (l *links) add(d *schema.Discovery) {
	if !l.any {
		*l = links{any: true, source: d.SrcDomain, depth: d.Depth, suspicion: d.Suspicion}
	}
	if d.SrcDomain != l.source {
		l.source, l.first = d.SrcDomain, false
	}
	if d.First && !l.first {
		l.first = true
		l.inlinks++
	}
	l.depth = min(l.depth, d.Depth)
	l.suspicion = min(l.suspicion, d.Suspicion)
	if l.seed == "" || d.Seed != "" && d.Seed < l.seed {
		l.seed = d.Seed
	}
	if d.Kind == kindRedirect || d.Kind == kindCanonical {
		l.atLeast = max(l.atLeast, d.Priority)
	}
}

// Kinds of links by which a page says that another URL stands for it.
const (
	kindRedirect  = "redirect"
	kindCanonical = "canonical"
)

// batch gathers items in key order.
type batch struct {
	f     *folding
	most  int
	items []item
}

func (b *batch) add(ctx context.Context, h *head) error {
	n := len(b.items)
	if n == 0 || b.items[n-1].key != h.key {
		if n == b.most {
			if err := b.flush(ctx); err != nil {
				return err
			}
		}
		b.items = append(b.items, item{key: h.key})
		n = len(b.items)
	}
	it := &b.items[n-1]
	switch {
	case h.fact != nil:
		it.facts = append(it.facts, *h.fact)
	case h.list != nil && it.listed:
		return fmt.Errorf("%s is listed twice", h.key.URL)
	case h.list != nil:
		it.listed, it.list = true, *h.list
	default:
		it.links.add(h.event)
	}
	return nil
}

// flush looks the gathered URLs up and folds them in order.
func (b *batch) flush(ctx context.Context) error {
	for i := range b.items {
		if err := b.items[i].check(); err != nil {
			return err
		}
	}
	if err := b.look(ctx); err != nil {
		return err
	}
	for i := range b.items {
		if err := b.f.item(ctx, &b.items[i]); err != nil {
			return err
		}
	}
	clear(b.items)
	b.items = b.items[:0]
	return nil
}

// check sorts the facts of an item out, and holds them to must 1: a listed URL
// has one final row or waits again, and nothing else has either.
func (it *item) check() error {
	for i := range it.facts {
		fact := &it.facts[i]
		switch {
		case fact.What == factPage:
			it.page = fact
		case fact.What == factLeft && it.left != nil:
			return fmt.Errorf("%s waits again twice", it.key.URL)
		case fact.What == factLeft:
			it.left = fact
		case fact.Kind != kindPage || !fact.Final:
		case it.final != nil:
			return fmt.Errorf("%s has two final rows: %s and %s", it.key.URL, it.final.Reason,
				fact.Reason)
		default:
			it.final = fact
		}
	}
	if it.left != nil {
		if policy, ok := schema.PolicyOf(it.left.Reason); !ok || policy.Final {
			return fmt.Errorf("%s waits again as %q: no such reason", it.key.URL, it.left.Reason)
		}
	}
	switch {
	case it.final != nil && it.left != nil:
		return fmt.Errorf("%s has a final row (%s) and waits again (%s)", it.key.URL, it.final.Reason,
			it.left.Reason)
	case it.listed && it.final == nil && it.left == nil:
		return fmt.Errorf("%s was listed and has neither a final row nor waits again", it.key.URL)
	case it.final != nil && it.listed == (it.final.What == factRefused):
		return fmt.Errorf("%s has a final row (%s) by the wrong stage", it.key.URL, it.final.Reason)
	case it.left != nil && !it.listed:
		return fmt.Errorf("%s waits again and was not listed", it.key.URL)
	}
	return nil
}

// look fills in what urls knows of the items that may change it.
func (b *batch) look(ctx context.Context) error {
	var keys []lsm.Key
	var at []int
	for i := range b.items {
		if it := &b.items[i]; it.final != nil || it.links.any {
			keys, at = append(keys, it.key), append(at, i)
		}
	}
	whole := func(index int, _ *schema.URL) bool { return b.items[at[index]].final != nil }
	err := b.f.urls.LookupMore(ctx, keys, whole, func(hit lsm.Hit[schema.URL]) error {
		it := &b.items[at[hit.Index]]
		it.known, it.old, it.refs = true, hit.Row, slices.Clone(hit.Refs)
		if hit.Row.Delta {
			return fmt.Errorf("%s has additions in urls and no row: damaged", it.key.URL)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look up URLs: %w", err)
	}
	return b.f.countGroups(ctx, b.items)
}

// item folds one key.
func (f *folding) item(ctx context.Context, it *item) error {
	if err := f.enter(ctx, it.key); err != nil {
		return err
	}
	for i := range it.facts {
		f.note(&it.facts[i])
	}
	switch {
	case it.final != nil:
		return f.fetched(it)
	case it.links.any && !it.known && it.left != nil:
		return fmt.Errorf("%s was listed and is not in urls", it.key.URL)
	case it.links.any && !it.known:
		return f.discovered(it)
	case it.links.any:
		promoted, err := f.linked(it)
		if err != nil || promoted || it.left == nil {
			return err
		}
	}
	if it.left != nil {
		return f.again(it)
	}
	return nil
}
