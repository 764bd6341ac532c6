package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"seine/cmd/internal/audit"
	"seine/cmd/internal/node"
	"seine/formats/layout"
	"seine/formats/schema"
	"seine/jobs"
	"seine/mapper/webtest"
	"seine/reducer/task"
)

// outcome is what a crawl has come to.
type outcome struct {
	broken []string          // rules
	urls   map[string]string // what is known of each URL, save volatile columns
	pages  map[string]string // digest of the newest body by URL
	faults int
	took   time.Duration // virtual

	strikes []strike
}

// judge checks a crawl that is over, on the store without faults.
func (w *world) judge(crawled error) (o outcome) {
	fail := func(format string, args ...any) {
		o.broken = append(o.broken, fmt.Sprintf(format, args...))
	}
	if o.broken = append(w.ill(), w.doubled()...); errors.Is(crawled, errIll) {
		return o
	}
	if crawled != nil {
		fail("%v", crawled)
	}
	c := w.crawl(w.base, "judge")
	head, err := c.Head(w.t.Context())
	if err != nil {
		fail("%v", err)
		return o
	}
	report, err := audit.Run(w.t.Context(), audit.Crawl{Store: c.Store, Open: c.Store.Open,
		Source: c.Env("").Source(), Suffixes: c.Suffixes}, head, audit.Options{ReadData: true})
	if err != nil {
		fail("audit: %v", err)
		return o
	}
	for _, f := range report.Findings {
		fail("%s", f)
	}
	for _, j := range w.manners() {
		if j.Repeats > 0 && w.losses == 0 {
			fail("%s: %d URLs were asked for again, though no worker was lost", j.Domain, j.Repeats)
		}
	}
	o.urls, o.pages = map[string]string{}, map[string]string{}
	err = node.ScanURLs(w.t.Context(), c, head, layout.All, nil, func(row *schema.URL) error {
		reason, status := row.Reason, row.HTTPStatus
		if reason == schema.NotModified { // asked again, since a clock was set beyond its interval
			reason, status = schema.OK, http.StatusOK
		}
		o.urls[row.URL] = fmt.Sprintf("%s %s %d %016x", row.CrawlStatus, reason, status, row.ContentHash)
		return nil
	})
	if err != nil {
		fail("read urls: %v", err)
	}
	for _, part := range head.Parts {
		for _, object := range part.Tables[schema.Pages] {
			err := task.EachRow(w.t.Context(), c.Env(""), object, nil, func(row *schema.Page) error {
				own := task.Own(*row)
				o.pages[own.URL] = own.PayloadDigest
				return nil
			})
			if err != nil {
				fail("read pages: %v", err)
			}
		}
	}
	if len(o.pages) < 5 {
		fail("only %d pages were stored", len(o.pages))
	}
	return o
}

// ill are the rules that can be seen to be broken while a crawl runs.
func (w *world) ill() (broken []string) {
	for _, key := range w.base.overwritten() {
		broken = append(broken, key+" was overwritten with something else")
	}
	for _, j := range w.manners() {
		if what := j.Faulty(); what != "" {
			broken = append(broken, "manners: "+what)
		}
	}
	return broken
}

func (w *world) manners() []webtest.Judgement {
	return w.web.Log.Manners(w.web, func(string) time.Duration { return delay }, time.Millisecond)
}

// doubled says whether more jobs were done than were asked for.
func (w *world) doubled() (broken []string) {
	switch done, err := w.done(); {
	case err != nil:
		return []string{fmt.Sprintf("read the rounds: %v", err)}
	case done > w.asked:
		return []string{fmt.Sprintf("%d jobs were asked for, %d were done", w.asked, done)}
	}
	return nil
}

// done counts the jobs that the asker asked for and that were committed.
func (w *world) done() (n int, err error) {
	c := w.crawl(w.base, "judge")
	head, err := c.Head(w.t.Context())
	if err != nil {
		return 0, err
	}
	for _, part := range head.Parts {
		for _, object := range part.Tables[schema.Rounds] {
			err := task.EachRow(w.t.Context(), c.Env(""), object, nil, func(row *schema.RoundRow) error {
				kind := jobs.Kind(row.Kind)
				if row.Outcome == "committed" && (kind == jobs.KindRound || kind == jobs.KindInject) {
					n++
				}
				return nil
			})
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// differences names up to ten rows in which two crawls of one web differ.
func differences(calm, stormy outcome) (found []string) {
	for what, pair := range map[string][2]map[string]string{
		"urls": {calm.urls, stormy.urls}, "pages": {calm.pages, stormy.pages}} {
		all := maps.Clone(pair[0])
		maps.Copy(all, pair[1])
		for _, url := range slices.Sorted(maps.Keys(all)) {
			if pair[0][url] != pair[1][url] && len(found) < 10 {
				found = append(found, fmt.Sprintf("%s: %s is %q, without faults %q", what, url, pair[1][url],
					pair[0][url]))
			}
		}
	}
	return found
}
