package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/coordinator/client"
	"seine/coordinator/state"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
	"seine/formats/settings"
)

// coordinators are the addresses of the coordinators to ask: those named, or
// that of the process of this machine which has the store, by its local folder; ""
// if there is none.
func (a *app) coordinators(local string) (string, error) {
	if a.coordinator != "" {
		return withScheme(a.coordinator), nil
	}
	owner, held, err := dir.Holder(local)
	if err != nil || !held {
		return "", err
	}
	return withScheme(owner.Address), nil
}

// withScheme completes addresses such as localhost:7700, separated by commas.
func withScheme(addresses string) string {
	all := strings.Split(addresses, ",")
	for i, address := range all {
		if address = strings.TrimSpace(address); !strings.Contains(address, "://") {
			address = "http://" + address
		}
		all[i] = address
	}
	return strings.Join(all, ",")
}

// patient is how long a person's command goes on asking coordinators that were
// named: longer than they take to choose another leader.
const patient = 20 * time.Second

// dial makes a client for coordinators.
func (a *app) dial(addresses string) (*client.Client, error) {
	d := node.Dialling{CA: a.ca, Cert: a.env("SEINE_CERT"), Key: a.env("SEINE_KEY"), TokenFile: a.tokenFile,
		Token: a.env("SEINE_TOKEN")}
	if d.CA == "" {
		d.CA = a.env("SEINE_CA")
	}
	if a.coordinator != "" {
		d.Patience = patient
	}
	c, err := d.Client(addresses)
	if err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// connect reaches the running coordinators, if there are any.
func (a *app) connect(local string) (conn api.Conn, running bool, err error) {
	addresses, err := a.coordinators(local)
	if err != nil || addresses == "" {
		return nil, false, err
	}
	c, err := a.dial(addresses)
	return c, err == nil, err
}

// attached runs use beside a coordinator: a remote one if it is named, else one
// in this process, for which nobody else may have the store.
func (a *app) attached(ctx context.Context, c *node.Crawl, drain <-chan struct{},
	use func(ctx context.Context, conn api.Conn) error) error {
	if a.coordinator != "" {
		conn, err := a.dial(withScheme(a.coordinator))
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		done := make(chan error, 1)
		go func() { done <- use(ctx, conn) }()
		select {
		case err := <-done:
			return err
		case <-drain: // the coordinator's round goes on without us
			stop(node.ErrDrained)
			<-done
			return node.ErrDrained
		}
	}
	return node.Embed(ctx, c, node.Options{Web: a.web, Drain: drain}, use)
}

// interruptible makes the first interrupt close drain, and the second end ctx.
// done ends the watching.
func (a *app) interruptible(ctx context.Context) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	drain, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-a.interrupts:
			fmt.Fprintln(a.err, "stopping: what was fetched is sealed; once more stops at once")
			close(drain)
		case <-ctx.Done():
			return
		}
		select {
		case <-a.interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, drain, func() { cancel(); <-watched }
}

// free says whether this process may work on the store: nothing is written to
// one that another process has.
func (a *app) free(store *node.Store) error {
	if a.coordinator != "" {
		return nil
	}
	owner, held, err := dir.Holder(store.Local)
	if err != nil || !held {
		return err
	}
	return fmt.Errorf("%w; `seine status` shows what it does, `seine round submit` and "+
		"`seine inject` hand it work", &dir.LockedError{Root: store.URL, Owner: owner})
}

// contactMissing refuses to begin what could only be refused URL by URL.
func contactMissing(s settings.Settings, web node.Web) error {
	if s.Contact != "" || len(s.AllowNetwork) > 0 || web.Dial != nil {
		return nil
	}
	return usagef("no request goes to a public address until site owners can reach you: add\n" +
		"  --contact you@example.org\n" +
		"(a mail address or a URL; it stands in the user agent), or --allow-network 127.0.0.0/8 " +
		"for a web of your own")
}

// requestID names a submission, so that repeating it is no second one.
func requestID(what string) string {
	return fmt.Sprintf("%s-%d-%d", what, os.Getpid(), time.Now().UnixNano())
}

// watchEvery is how often an open job is looked at.
const watchEvery = 400 * time.Millisecond

// patience is how long a coordinator may try something in vain before a person
// is told.
const patience = 90 * time.Second

// watch shows a job until it is over, or blocked.
func (a *app) watch(ctx context.Context, conn api.Conn, ref state.JobRef, bars *ui.Progress) (api.Job, error) {
	defer bars.Clear()
	var since time.Time // trouble has been there
	var version uint64
	for {
		waiting, stop := context.WithTimeout(ctx, watchEvery)
		job, err := conn.Watch(waiting, ref, version)
		expired := waiting.Err() != nil
		stop()
		if err != nil && expired && ctx.Err() == nil {
			job, err = conn.Watch(ctx, ref, 0)
		}
		if err != nil {
			return job, orCause(ctx, err)
		}
		if job.Over() || job.Phase == state.Blocked {
			return job, nil
		}
		version = job.Version
		shown := job
		st, err := conn.Status(ctx)
		if err != nil {
			return job, orCause(ctx, err)
		}
		if job.Phase == api.Queued && len(st.Open) > 0 {
			shown = st.Open[0]
		}
		bars.Show(shown, time.Now())
		switch {
		case st.Trouble == "":
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > patience:
			return job, exitError{exitStorage, fmt.Errorf("%s job %d has been tried in vain for %v: %s; "+
				"mend it and run the same command: nothing is lost", job.Kind, job.Job, patience, st.Trouble)}
		}
	}
}

// orCause says why ctx ended, if that is why something failed.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// blocked is the error of a job that cannot go on by itself.
func blocked(job api.Job) error {
	reason := job.Error
	for _, s := range job.Stages {
		for _, t := range s.Tasks {
			if t.Phase == state.Failed {
				reason = fmt.Sprintf("%s of partitions %s failed %d times, last at worker %s: %s",
					s.Stage, t.Range, t.Failures, t.Worker, t.Error)
			}
		}
	}
	err := fmt.Errorf("%s %d is blocked: %s\nnothing is lost: once mended, `seine round rerun %d "+
		"--failed` (or, when nothing runs, the same command) tries again, `seine round commit %d` "+
		"leaves the part out, `seine round cancel %d --discard` drops the round", job.Kind, job.Job,
		reason, job.Job, job.Job, job.Job)
	for _, class := range []error{objstore.ErrFull, objstore.ErrUnavailable} {
		if strings.Contains(reason, class.Error()) { // it came as text, from a worker
			return exitError{exitStorage, err}
		}
	}
	return err
}
