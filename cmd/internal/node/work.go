package node

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"seine/jobs/worker"
)

// WorkOptions of a worker in a process of its own.
type WorkOptions struct {
	Web     Web
	Scratch string // a folder that outlives the process and is no other worker's
	// Slots is how many tasks run at once that compute; 0: one a core.
	Slots int
	// FetchSlots is how many fetch tasks run at once, which mostly wait.
	FetchSlots int
	Limits     Limits
	Drain      <-chan struct{} // closed: seal, and end
	Log        *slog.Logger
}

// Work claims and lives tasks of a crawl until the drain is over or ctx ends.
func Work(ctx context.Context, c *Crawl, conn worker.Conn, o WorkOptions) error {
	scratch, err := scratchOf(c, Options{Scratch: o.Scratch})
	if err != nil {
		return err
	}
	if o.Slots <= 0 {
		o.Slots = runtime.GOMAXPROCS(0)
	}
	return worker.Run(ctx, worker.Settings{ID: workerID(), Slots: o.Slots, FetchSlots: o.FetchSlots,
		Drain: o.Drain, Log: o.Log}, conn, Runners(c, scratch, o.Web, o.Limits))
}

// workerID is unique over machines, processes and restarts.
func workerID() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d-%d", host, os.Getpid(), time.Now().UnixNano())
}
