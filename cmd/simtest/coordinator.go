package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"seine/cmd/internal/node"
	"seine/coordinator/leader"
	"seine/coordinator/raftnode"
	"seine/coordinator/state"
	"seine/jobs/worker"
)

// group is one or three coordinators.
type group struct {
	nodes   *raftnode.MemoryGroup
	members []*coordinator
	stop    func()
	wait    sync.WaitGroup
	over    bool
}

// coordinator is a process that leads or follows.
type coordinator struct {
	process *process
	leader  *leader.Leader
	log     *log
	group   *group
	index   int
	cuts    int // that hold now: it is cut off from the others; guarded by the world's mu
}

// found begins a group on empty disks: it takes up what the store shows. recover says that another
// may still work on it.
func (w *world) found(size int, recover bool) {
	nodes, err := raftnode.Memory(size, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	g := &group{nodes: nodes, stop: cancel}
	w.groups++
	for i, n := range nodes.Nodes {
		name := fmt.Sprintf("coordinator-%d-%d", w.groups, i)
		c := &coordinator{process: &process{name: name}, group: g, index: i}
		crawl := w.crawl(w.troubled(c.process, nil), name)
		c.log = &log{Node: n, world: w, process: c.process, changes: make(chan bool)}
		c.leader = leader.New(c.log, w.flaw.ledger(node.NewLedger(crawl, w.folder(name))), nil)
		c.leader.Clock = w.flaw.leaderClock(c)
		c.leader.Group = &leader.Group{Wait: recover, Quiet: w.flaw.quiet()}
		g.members = append(g.members, c)
		g.wait.Go(func() { c.log.pass(ctx) })
		g.wait.Go(func() {
			if err := c.leader.Run(ctx); err != nil && ctx.Err() == nil {
				w.say("%s ended: %v", name, err)
			}
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.group = g
}

// disband loses all coordinators at once, with their logs.
func (w *world) disband() {
	w.mu.Lock()
	g := w.group
	w.group = &group{stop: func() {}, over: true}
	w.mu.Unlock()
	w.end(g)
}

// end ends a group, once.
func (w *world) end(g *group) {
	g.stop()
	for _, c := range g.members {
		c.process.die()
	}
	g.wait.Wait()
	w.mu.Lock()
	over := g.over
	g.over = true
	w.mu.Unlock()
	if over {
		return
	}
	if err := g.nodes.Close(); err != nil {
		w.t.Error(err)
	}
}

// part cuts a coordinator off from the others, or joins it with them again.
func (w *world) part(c *coordinator, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.cuts += by
	if by > 0 && c.cuts == 1 {
		c.group.nodes.Isolate(c.index)
	}
	if by < 0 && c.cuts == 0 {
		c.group.nodes.Join(c.index)
		for _, other := range c.group.members { // Join joined it with those who are cut off, too
			if other.cuts > 0 {
				c.group.nodes.Isolate(other.index)
			}
		}
	}
}

// log is a node's, as a process that may be stopped sees it: what happens meanwhile it hears when
// it wakes, and not at once.
type log struct {
	*raftnode.Node
	world   *world
	process *process
	changes chan bool

	mu    sync.Mutex
	leads bool
	since time.Time // when it began to lead
	times int
}

// Apply implements leader.Log.
func (l *log) Apply(ctx context.Context, c state.Command) (state.Result, error) {
	l.process.hold()
	r, err := l.Node.Apply(ctx, c)
	l.process.hold()
	return r, err
}

// Verify implements leader.Log.
func (l *log) Verify(ctx context.Context) error {
	l.process.hold()
	err := l.world.flaw.verified(ctx, l.Node)
	l.process.hold()
	return err
}

// Catchup implements leader.Log.
func (l *log) Catchup(ctx context.Context) error {
	l.process.hold()
	err := l.Node.Catchup(ctx)
	l.process.hold()
	return err
}

// Leadership implements leader.Log.
func (l *log) Leadership() <-chan bool { return l.changes }

// Leading implements leader.Log: as far as the process has heard.
func (l *log) Leading() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leads
}

// ahead is how far the clock of somebody is ahead who takes all leases to be over soon after it has
// begun to lead.
func (l *log) ahead() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.times
	if l.leads && time.Since(l.since) < time.Second {
		n--
	}
	return time.Duration(n) * worker.LeaseTime
}

// dazed is how long at most a process that was stopped takes to hear that it leads no more: Raft's
// own goroutine may be the last to go on.
const dazed = 500 * time.Millisecond

// pass passes changes of leadership on, until ctx ends.
func (l *log) pass(ctx context.Context) {
	for n := 0; ; n++ {
		select {
		case leads := <-l.Node.Leadership():
			if l.process.hold() {
				x := l.world.plan.chance("dazed", l.process.name, n)
				time.Sleep(time.Duration(x * float64(dazed)))
			}
			l.mu.Lock()
			if l.leads = leads; leads {
				l.since = time.Now()
				l.times++
			}
			l.mu.Unlock()
			l.world.say("%s leads: %v", l.process.name, leads)
			select {
			case l.changes <- leads:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
