package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/formats/schema"
	"seine/mapper/polite"
	"seine/mapper/spool"
)

// beginExtra begins the outcome of what is not on the list.
func (f *fetcher) beginExtra(a *authority, kind, url string) *outcome {
	return &outcome{Fetch: schema.Fetch{Domain: a.domain, Host: a.host, URL: url,
		Round: int64(f.task.Spec.Job), Attempt: f.task.Attempt.String(), Kind: kind, Final: true}}
}

// record makes the outcome of a listed URL last, and notes that it has one.
func (f *fetcher) record(ctx context.Context, item int32, o *outcome) {
	if !f.append(ctx, o) {
		return // as if it had been cut off: asked again by the next attempt
	}
	f.mu.Lock()
	f.done[item] = true
	f.mu.Unlock()
	f.progress.Add(o.Fetch.Reason, 1)
	f.progress.Add("fetched", 1)
	f.spend(o.Fetch.Bytes)
}

// recordExtra makes the outcome of a robots.txt or sitemap last.
func (f *fetcher) recordExtra(ctx context.Context, o *outcome, x *answer) {
	if r := x.response; r != nil {
		if o.Web == nil {
			if u, err := normal(o.Fetch.URL); err == nil {
				o.Web = f.archived(u, x, o)
			}
		}
		if o.Fetch.Reason == "" {
			o.Fetch.Reason = schema.OK
			if r.Status < 200 || r.Status > 299 {
				o.Fetch.Reason = reasonOf(r.Status, x.manners.RetryAfter > 0)
			}
		}
		defer r.Close()
	}
	if f.append(ctx, o) {
		f.progress.Add(o.Fetch.Kind, 1)
		f.spend(o.Fetch.Bytes)
	}
}

// recordCut notes a request that was given up because the attempt was stopped,
// when the server may have seen it. The URL waits again; the row is there so
// that the next round, too, leaves the group a whole delay from this moment.
func (f *fetcher) recordCut(ctx context.Context, o *outcome, x *answer) {
	if !x.cut {
		return
	}
	if x.block == nil {
		o.Fetch.Reason = schema.Stopped
	}
	o.Fetch.Final = false
	f.append(ctx, o)
}

// append writes the outcome to the spool. A full spool waits for a seal: that is
// how fetching pauses while the store is away.
func (f *fetcher) append(ctx context.Context, o *outcome) bool {
	parts, err := f.encode(o)
	if err != nil {
		f.seal.fail(err)
		return false
	}
	for {
		freed := f.seal.freed()
		err := f.seal.append(f.spool, parts)
		switch {
		case err == nil:
			if at := fromMS(o.Fetch.RetryAt); o.Fetch.Final && !at.IsZero() && time.Until(at) > time.Minute {
				f.seal.now() // a pause that must survive this machine
			}
			return true
		case !errors.Is(err, spool.ErrFull):
			f.seal.fail(err)
			return false
		}
		f.seal.now()
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

// encode encodes an outcome for the spool. One too large for a record loses links,
// as those of a sitemap of 50 MiB may be; if that is not enough it keeps its row
// alone. Nothing that a server sends may end the attempt.
func (f *fetcher) encode(o *outcome) ([][]byte, error) {
	limit := min(spool.MaxRecord, f.set.ScratchBytes/2)
	parts, err := o.encode()
	all, detail := len(o.links), o.Fetch.Detail
	for err == nil && size(parts) > limit && len(o.links) > 0 {
		o.links = o.links[:len(o.links)/2]
		o.Fetch.Detail = fmt.Sprintf("%d of %d links kept, a record takes %d bytes; %s", len(o.links),
			all, limit, detail)
		parts, err = o.encode()
	}
	if n := size(parts); err == nil && n > limit {
		o.Page, o.Web, o.links, o.text = nil, nil, nil, ""
		o.Fetch.Reason, o.Fetch.Change = schema.Crashed, ""
		o.Fetch.Detail = fmt.Sprintf("its record takes %d bytes, %d are allowed", n, limit)
		parts, err = o.encode()
	}
	return parts, err
}

func size(parts [][]byte) (n int64) {
	for _, p := range parts {
		n += int64(len(p))
	}
	return n
}

// spend counts bytes against the round's budget.
func (f *fetcher) spend(n int64) {
	f.progress.Add("bytes", n)
	f.mu.Lock()
	f.bytes += n
	total := f.bytes
	f.mu.Unlock()
	if f.spent(total) {
		f.stopQueue()
	}
}

// spent says whether total uses up the round's budget of bytes. Tasks do not
// talk: each may spend its share.
func (f *fetcher) spent(total int64) bool {
	r := f.task.Spec.Round
	return r != nil && r.MaxBytes > 0 &&
		total >= max(r.MaxBytes/int64(max(len(f.task.Spec.Ranges), 1)), 1)
}

// leftRows are the rows of the list that wait again, with why.
func (f *fetcher) leftRows() []schema.Fetch {
	if f.runner != nil {
		f.runner.With(func(q *polite.Queue[int32]) {
			for _, l := range q.TakeLeft() {
				for _, item := range l.Items {
					if item >= 0 {
						f.left[item] = l.Why
					}
				}
			}
		})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var rows []schema.Fetch
	for i := range f.rows {
		if f.done[i] {
			continue
		}
		r := &f.rows[i]
		rows = append(rows, schema.Fetch{Domain: r.Domain, Host: r.Host, URL: r.URL,
			Round: int64(f.task.Spec.Job), Attempt: f.task.Attempt.String(), Kind: kindPage,
			Reason: f.leftReason(i)})
	}
	return rows
}

// leftReason says why a row waits again.
func (f *fetcher) leftReason(i int) schema.Reason {
	switch {
	case f.noContact[i]:
		return schema.NoContact
	case f.left[i] == polite.WhyRested:
		return schema.GroupRested
	case f.left[i] == polite.WhyBackOff:
		return schema.GroupBusy
	case f.left[i] == polite.WhyStopped && f.stopped():
		return schema.Stopped
	}
	return schema.Untouched
}
