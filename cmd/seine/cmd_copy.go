package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/cmd/internal/transfer"
	"seine/cmd/internal/ui"
)

const copyLong = `Copies a crawl into an empty folder or bucket: from a laptop's folder to the bucket
of a cluster, back, or as a reserve. The copy is the newest snapshot (or --snapshot N)
with all older ones that can still be read and, of the newest, the rounds that are
open: whoever starts on it goes on where the source stood. Nothing is repartitioned
or rewritten.

Objects come before the commits that name them, and the copy is no crawl before it is
whole. Cut off, the same command goes on; run again later, it brings a copy up to
date. It refuses a destination that holds another crawl, things of others, or a later
state than the source.

A crawl that runs may be copied. Before the copy is crawled further, stop the source:
two that go on from one state ask the same sites side by side.`

const copyExample = `  seine copy ./crawl s3://bucket/prefix
  seine copy s3://bucket/prefix ./crawl --snapshot 40
  seine copy --verify ./crawl s3://bucket/prefix    # read everything back`

func newCopy(a *app) *cobra.Command {
	var o transfer.Options
	c := &cobra.Command{
		Use: "copy SRC DST", Short: "Copy a crawl to another folder or bucket", Long: copyLong,
		Example: copyExample, Args: arguments(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, args []string) error {
			o.Snapshot = a.snapshot
			return a.copy(c.Context(), args[0], args[1], o)
		},
	}
	c.Flags().BoolVar(&o.Verify, "verify", false, "read every object back and compare its SHA-256")
	c.Flags().IntVar(&o.Parallel, "parallel", 8, "objects that are copied at once")
	addSnapshot(a, c)
	return c
}

func (a *app) copy(ctx context.Context, from, to string, o transfer.Options) (err error) {
	if o.Parallel < 1 || o.Parallel > 256 {
		return usagef("--parallel %d: say 1 to 256", o.Parallel)
	}
	src, err := node.OpenStore(ctx, from, false)
	if err != nil {
		return absent(err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := node.OpenStore(ctx, to, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if err := a.free(dst); err != nil {
		return err
	}
	if o.Scratch, err = os.MkdirTemp("", "seine-copy-"); err != nil {
		return fmt.Errorf("scratch folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Scratch)) }()
	began, told := time.Now(), time.Now()
	o.Progress = func(r transfer.Report) {
		if now := time.Now(); now.Sub(told) > time.Second && !a.json {
			told = now
			fmt.Fprintf(a.err, "copied %d of %d objects, %s\n", r.Copied+r.Found, r.Objects, ui.Bytes(r.Moved))
		}
	}
	// Past the memory of small objects: what is copied is read once.
	report, err := transfer.Run(ctx, src.Direct(), dst.Direct(), o)
	if errors.Is(err, transfer.ErrNoCrawl) {
		return absent(fmt.Errorf("%s: %w", from, err))
	}
	if errors.Is(err, transfer.ErrOther) {
		return usage(fmt.Errorf("%s: %w", to, err))
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	_, err = fmt.Fprintf(a.out, "%s is a copy of %s at snapshot %d: %d objects, %s; copied %d, %s in %s\n",
		to, from, report.Snapshot, report.Objects, ui.Bytes(report.Bytes), report.Copied,
		ui.Bytes(report.Moved), ui.Span(time.Since(began)))
	return err
}
