package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"seine/cmd/internal/node"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/s3"
	"seine/formats/objstore/storetest"
	"seine/formats/schema"
	"seine/formats/tasklog"
)

// TestGroupWithoutDisks takes from a crawl in a bucket, in the middle of a round, every process and
// every disk: the coordinators' and the workers'. A new group goes on from the bucket alone, and
// asks for nothing that was sealed. Then most of the old group comes back with copies of its disks,
// and ends because another epoch has begun.
func TestGroupWithoutDisks(t *testing.T) {
	c, web, calm := processes(t, 6)
	defer web.end()
	c.settle.delay = stormDelay
	gateway := c.onBucket()
	c.startAll(2)
	c.must("settings", "set", "seal_interval=1s", "contact=nobody@example.org")
	crawl := c.crawling(web, c.urls)
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	bucket := openGateway(t, gateway)
	await(t, "sealed work of a round that runs", func() bool {
		open, sealed := sealedWork(t, bucket)
		return open && len(sealed) >= 60
	})
	c.awaitRequests(web.log, len(hits(t, web.log))+5) // they need not be sealed when all dies
	for _, d := range c.all() {
		d.end(syscall.SIGKILL)
	}
	_ = crawl.Process.Kill() // it would go on asking
	_ = crawl.Wait()
	before := hits(t, web.log)
	open, sealed := sealedWork(t, bucket)
	if !open || len(sealed) >= len(before) {
		t.Fatalf("not in the middle of a round: open %v, %d sealed, %d requests", open, len(sealed),
			len(before))
	}
	old := c.coordinators[1:]
	for _, d := range old { // a backup, of the most of the group
		copyTree(t, filepath.Join(c.folder, d.name()), filepath.Join(c.folder, "backup", d.name()))
	}
	for _, d := range c.all() {
		if err := os.RemoveAll(filepath.Join(c.folder, d.name())); err != nil {
			t.Fatal(err)
		}
	}

	urls := c.recoverAll()
	crawled := make(chan error, 1)
	go func() { crawled <- c.crawl(web, urls) }()
	for _, d := range old {
		copyTree(t, filepath.Join(c.folder, "backup", d.name()), filepath.Join(c.folder, d.name()))
		d.start(t)
	}
	await(t, "an old coordinator that ends", func() bool {
		return old[0].hasEnded() || old[1].hasEnded()
	})
	for _, d := range old { // the other has no majority any more
		if d.hasEnded() {
			d.fenced(t)
		}
	}
	if err := <-crawled; err != nil {
		t.Fatal(err)
	}
	web.end()
	c.check()
	all := hits(t, web.log)
	faults, repeats := judge(all, stormDelay)
	for _, fault := range faults {
		t.Error(fault)
	}
	asked := map[string]int{}
	for _, h := range all {
		asked[h.host+h.path]++
	}
	for _, u := range sealed {
		if asked[u] != 1 {
			t.Errorf("%s was sealed, and %d times asked for", u, asked[u])
		}
	}
	t.Logf("%d requests before, %d of them sealed in the open round; %d in all, %d of them repeats",
		len(before), len(sealed), len(all), repeats)
	sameRows(t, c.copied(), calm.under(stormDelay))
}

// recoverAll starts a new group on empty disks, and the workers. It returns where the group is.
func (c *cluster) recoverAll() (urls string) {
	c.t.Helper()
	var api []string
	for range 3 {
		api = append(api, "http://"+freeAddress(c.t))
	}
	urls = strings.Join(api, ",")
	join := []string{"--join", urls}
	for i, how := range [][]string{{"--recover"}, join, join} {
		d := c.coordinator(fmt.Sprintf("r%d", i+1), strings.TrimPrefix(api[i], "http://"),
			freeAddress(c.t), how...)
		d.start(c.t)
		c.coordinators = append(c.coordinators, d)
	}
	c.awaitHealth(urls)
	await(c.t, "three members", func() bool {
		out, err := c.command(urls, "member", "list").CombinedOutput()
		return err == nil && strings.Contains(string(out), "r2") && strings.Contains(string(out), "r3")
	})
	for _, d := range c.workers {
		d.args[2] = urls
		d.start(c.t)
	}
	return urls
}

// fenced judges how a coordinator ended that another group has taken the crawl from.
func (d *daemon) fenced(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(d.log)
	code := d.cmd.ProcessState.ExitCode()
	if err != nil || code != 9 || !strings.Contains(string(text), "epoch") {
		t.Errorf("%s ended with code %d, want 9 and the epoch as the reason: %v\n%s", d.name(), code, err,
			text)
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// openGateway opens the crawl in a test's bucket, from within the test.
func openGateway(t *testing.T, g storetest.Gateway) *node.Store {
	t.Helper()
	store, err := s3.Open(g.Address("crawl"), g.Env)
	if err != nil {
		t.Fatal(err)
	}
	return node.OnStore(store, "bucket", t.TempDir())
}

// sealedWork says whether the newest job is a round that fetches, and gives the pages, as host and
// path, whose answers are in its sealed chunks.
func sealedWork(t *testing.T, store *node.Store) (fetching bool, pages []string) {
	t.Helper()
	ctx := t.Context()
	crawl, err := node.OpenCrawl(ctx, store, false)
	if err != nil {
		return false, nil // it has not begun
	}
	head, err := crawl.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ended := map[string]bool{} // by the folder of a log
	err = store.List(ctx, layout.RoundPrefix, "", func(i objstore.Info) error {
		folder, _, isLog := strings.Cut(i.Key, "/log/")
		job, err := layout.ParseJob(i.Key)
		if err != nil || job <= head.Job || !isLog {
			return err
		}
		text, err := store.Get(ctx, i.Key)
		if err != nil {
			return err
		}
		entry, err := tasklog.Decode(i.Key, text)
		if err != nil {
			return err
		}
		ended[folder] = ended[folder] || entry.Kind == tasklog.KindEnd
		if entry.Kind == tasklog.KindChunk {
			pages = append(pages, answered(t, crawl, entry.Chunk)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, is := range ended {
		fetching = fetching || !is
	}
	return fetching, pages
}

// answered are the pages that a chunk has answers of.
func answered(t *testing.T, crawl *node.Crawl, chunk *tasklog.Chunk) (pages []string) {
	t.Helper()
	for _, o := range chunk.Objects {
		if o.Kind != tasklog.Fetches {
			continue
		}
		object := lsm.Object{Key: o.Key, Bytes: o.Size}
		err := eachRow(t.Context(), crawl, object, func(row *schema.Fetch) error {
			u, err := url.Parse(row.URL)
			if err == nil && row.Kind == "page" && row.HTTPStatus != 0 {
				pages = append(pages, u.Hostname()+u.RequestURI())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return pages
}
