package node

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"seine/coordinator/state"
	"seine/formats/objstore"
	"seine/formats/settings"
	"seine/jobs"
)

func (n *nightly) dump(to string) {
	err := n.crawl.Store.List(n.t.Context(), "", "", func(i objstore.Info) error {
		b, err := n.crawl.Store.Direct().Get(n.t.Context(), i.Key)
		if err != nil {
			return err
		}
		p := filepath.Join(to, i.Key)
		os.MkdirAll(filepath.Dir(p), 0o755)
		if err := os.WriteFile(p, b, 0o644); err != nil {
			return err
		}
		return os.Chtimes(p, i.ModTime, i.ModTime)
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

func TestZZDump(t *testing.T) {
	real := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(real.Add(-66 * day).Sub(time.Now()))
		span := func(d time.Duration) settings.Duration { return settings.Duration(d) }
		n := newNightly(t, settings.Settings{Contact: "https://example.org/", Scope: "any", Delay: span(time.Second),
			AllowNetwork: []string{"127.0.0.0/8"}, RoundDuration: span(time.Hour), IntervalFirst: span(day),
			IntervalSeed: span(day), IntervalMin: span(day), IntervalMax: span(9 * day), Retention: span(7 * day),
			KeepFetches: span(6 * day), KeepLinks: span(3 * day), KeepVersions: 2})
		n.seeds()
		for night := range 60 {
			n.night(fmt.Sprint(night))
			if night == 30 {
				n.dump("/tmp/review-stores/n30")
			}
		}
		n.dump("/tmp/review-stores/n60")
		n.check(n.head())
		n.submit(state.Submission{RequestID: "restore", Kind: jobs.KindRestore,
			Restore: &jobs.Restore{Snapshot: n.head().N - 20}})
		for night := range 3 {
			n.night(fmt.Sprint("after-", night))
		}
		n.check(n.head())
		n.dump("/tmp/review-stores/restored")
	})
}
