package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seine/cmd/internal/node"
	"seine/coordinator/api"
	"seine/coordinator/client"
	"seine/formats/settings"
)

const workerLong = `A worker of a crawl: it takes tasks from the coordinators, of which it finds the
leader by itself, and does them. All fetch tasks that it is given run at once, under
--connections and --memory, for they mostly wait; --slots bounds those that compute.

On SIGTERM it stops asking, seals what it fetched, gives its tasks back and leaves.
What a killed one fetched and did not seal lies in --scratch: started again on the
same folder, it takes that up. The folder is one worker's alone.

The files of --token-file, --ca, --cert and --key are read again when they have changed.
One that cannot be used leaves in force what it held before, and the log says so.`

const workerExample = `  seined worker --coordinator https://c1:7700,https://c2:7700,https://c3:7700 \
    --scratch /var/lib/seine/scratch --ca ca.pem --token-file worker-token`

// workerFlags are the command line of a worker.
type workerFlags struct {
	coordinators, store, scratch, memory string
	slots, connections, fetchTasks       int
	dialling                             node.Dialling
}

func newWorker(a *app) *cobra.Command {
	var f workerFlags
	c := &cobra.Command{Use: "worker", Short: "Run a worker", Long: workerLong, Example: workerExample,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.fromEnvironment(c.Flags()); err != nil {
				return err
			}
			return a.work(c.Context(), f)
		}}
	s := c.Flags()
	s.SortFlags = false
	s.StringVar(&f.coordinators, "coordinator", "", "`URL,...` of the coordinators, some or all")
	s.StringVar(&f.store, "store", "", "the crawl's store (default: as the coordinators say)")
	s.StringVar(&f.scratch, "scratch", "", "`FOLDER` of this worker for what is not sealed yet")
	s.IntVar(&f.slots, "slots", 0, "tasks at once that compute (default: one a core)")
	s.IntVar(&f.connections, "connections", 0, "requests at once (default: the setting connections)")
	s.IntVar(&f.fetchTasks, "fetch-tasks", 0, "fetch tasks at once (default: what --memory holds)")
	s.StringVar(&f.memory, "memory", "", "bytes to keep within, such as 4GiB (default: half of the machine's)")
	addDialling(s, &f.dialling, "")
	return c
}

// addDialling adds the flags of a client of the API.
func addDialling(s *pflag.FlagSet, d *node.Dialling, what string) {
	s.StringVar(&d.CA, "ca", "", what+"PEM `FILE` of the authority that signed the API's certificate")
	s.StringVar(&d.TokenFile, "token-file", "", what+"`FILE` whose first line is the token; $SEINE_TOKEN is one")
	s.StringVar(&d.Cert, "cert", "", what+"PEM `FILE` of a client certificate")
	s.StringVar(&d.Key, "key", "", what+"PEM `FILE` of its key")
}

// taskMemory is what a fetch task may take: its bodies, queue and chunk.
const taskMemory = 64 << 20

// limits fills in what follows from the memory.
func (f *workerFlags) limits() (memory int64, err error) {
	var s settings.Settings
	memory = node.DefaultMemory
	var info syscall.Sysinfo_t
	if f.memory != "" {
		if err := s.Set("max_body", f.memory); err != nil {
			return 0, usagef("--memory: %w", errors.Unwrap(err))
		}
		memory = s.MaxBody
	} else if syscall.Sysinfo(&info) == nil {
		memory = int64(info.Totalram) * int64(info.Unit) / 2
	}
	debug.SetMemoryLimit(memory)
	if f.fetchTasks <= 0 {
		f.fetchTasks = int(min(max(memory/taskMemory, 4), 1024))
	}
	return memory, nil
}

func (a *app) work(ctx context.Context, f workerFlags) error {
	if f.coordinators == "" || f.scratch == "" {
		return usagef("a worker needs --coordinator and --scratch")
	}
	if f.slots < 0 || f.connections < 0 || f.fetchTasks < 0 {
		return usagef("--slots, --connections and --fetch-tasks are above 0, or left out")
	}
	memory, err := f.limits()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(a.err, nil))
	f.dialling.Token, _ = a.env("SEINE_TOKEN")
	f.dialling.Log = log
	conn, err := f.dialling.Client(f.coordinators)
	if err != nil {
		return usageError{err}
	}
	told, err := storeOf(ctx, conn, log) // also if it is named here: they begin the crawl
	if err != nil || told == "" {
		return err
	}
	if f.store == "" {
		f.store = told
	}
	store, err := node.OpenStore(ctx, f.store, false)
	if err != nil {
		return fmt.Errorf("the store that the coordinators name: %w; --store names it as it is seen here", err)
	}
	defer func() { _ = store.Close() }()
	crawl, err := node.OpenCrawl(ctx, store, false)
	if err != nil {
		return err
	}
	log.Info("worker", "store", f.store, "coordinators", f.coordinators, "fetch_tasks", f.fetchTasks)
	return node.Work(context.WithoutCancel(ctx), crawl, conn, node.WorkOptions{Scratch: f.scratch, Slots: f.slots,
		FetchSlots: f.fetchTasks, Limits: node.Limits{Connections: f.connections, Memory: memory}, Drain: ctx.Done(), Log: log})
}

// storeOf asks the coordinators for the store until one answers; "" when ctx
// ends before.
func storeOf(ctx context.Context, conn *client.Client, log *slog.Logger) (string, error) {
	for {
		crawl, err := conn.Crawl(ctx)
		switch {
		case err == nil:
			return crawl.Store, nil
		case ctx.Err() != nil:
			return "", nil
		case !errors.Is(err, api.ErrUnavailable) && !errors.Is(err, api.ErrNotLeader):
			return "", err
		}
		log.Warn("ask the coordinators for the store", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}
