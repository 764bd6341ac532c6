package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/client"
	"seine/coordinator/ledgertest"
	"seine/coordinator/peer"
	"seine/coordinator/peer/peertest"
	"seine/coordinator/raftnode"
	"seine/coordinator/server"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

// member is a coordinator on loopback, with TLS towards the others.
type member struct {
	*Node
	url   string
	stop  func()
	ended chan error // holds what Run returned
}

// gang starts a group on one store.
func gang(t *testing.T, size int, store *ledgertest.Ledger) (all []*member) {
	t.Helper()
	authority := peertest.New(t)
	certificate, key := authority.Issue("node", "")
	identity, err := peer.LoadIdentity(nil, authority.CA, certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	var ports []*peer.Port
	var first []raftnode.Member
	for i := range size {
		p, err := peer.Listen("127.0.0.1:0", "", identity)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, p)
		first = append(first, raftnode.Member{ID: fmt.Sprintf("n%d", i+1), Address: p.Address()})
	}
	for i, p := range ports {
		all = append(all, start(t, first[i].ID, p, first, store))
	}
	return all
}

func start(t *testing.T, id string, port *peer.Port, first []raftnode.Member,
	store *ledgertest.Ledger) *member {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	report := func(err error) {
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	all.Go(func() { report(port.Run(ctx)) })
	raft, err := raftnode.Durable(raftnode.DurableOptions{ID: id, Dir: t.TempDir(), Port: port,
		Bootstrap: first})
	if err != nil {
		t.Fatal(err)
	}
	n := New(Options{ID: id, Raft: raft, Port: port, Ledger: store})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	all.Go(func() { ended <- n.Run(ctx) })
	all.Go(func() { report(server.Serve(ctx, l, n, server.Options{Group: n})) })
	stop := sync.OnceFunc(func() {
		report(raft.Close()) // at once, with nothing handed over
		cancel()
		all.Wait()
		select {
		case err := <-ended:
			report(err)
		default: // the test has looked at it
		}
	})
	t.Cleanup(stop)
	return &member{Node: n, url: "http://" + l.Addr().String(), stop: stop, ended: ended}
}

func reach(t *testing.T, members ...*member) *client.Client {
	t.Helper()
	var urls []string
	for _, m := range members {
		urls = append(urls, m.url)
	}
	c, err := client.New(strings.Join(urls, ","), client.Options{Patience: 20 * time.Second,
		HTTP: &http.Client{Transport: &http.Transport{}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func leads(t *testing.T, c *client.Client, among []*member) *member {
	t.Helper()
	if _, err := c.Status(t.Context()); err != nil { // it has taken over
		t.Fatal(err)
	}
	for _, m := range among {
		if m.raft.Leading() {
			return m
		}
	}
	t.Fatal("the leader that answered has gone")
	return nil
}

// fetches runs fetch tasks until they are let go, and notes what befell them.
type fetches struct {
	mu     sync.Mutex
	began  []jobs.AttemptRef
	lost   int
	letGo  chan struct{}
	all    chan struct{} // closed when want tasks have begun
	wanted int
}

func (f *fetches) run(ctx context.Context, task jobs.Task, lease *worker.Lease, _ *worker.Progress) (
	jobs.Result, error) {
	f.mu.Lock()
	f.began = append(f.began, task.AttemptRef())
	if len(f.began) == f.wanted {
		close(f.all)
	}
	f.mu.Unlock()
	select {
	case <-f.letGo:
	case <-lease.Lost():
		f.mu.Lock()
		f.lost++
		f.mu.Unlock()
		return jobs.Result{}, jobs.ErrLeaseLost
	case <-ctx.Done():
		return jobs.Result{}, ctx.Err()
	}
	return jobs.Result{End: task.ID()}, nil
}

func (f *fetches) employ(t *testing.T, conn worker.Conn, id string) {
	t.Helper()
	done := func(_ context.Context, task jobs.Task, _ *worker.Lease, _ *worker.Progress) (
		jobs.Result, error) {
		return jobs.Result{End: task.ID()}, nil
	}
	drain, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- worker.Run(context.Background(), worker.Settings{ID: id, Drain: drain}, conn,
			map[jobs.Stage]worker.Runner{jobs.StageGenerate: done, jobs.StageReduce: done,
				jobs.StageFetch: f.run})
	}()
	t.Cleanup(func() {
		close(drain)
		if err := <-ended; err != nil {
			t.Errorf("worker %s: %v", id, err)
		}
	})
}

// The leader dies while a round fetches: within 3 s another answers, no fetch
// stops, and no task is given to a second attempt.
func TestLeaderDies(t *testing.T) {
	const tasks = 6
	store := ledgertest.New(tasks)
	members := gang(t, 3, store)
	c := reach(t, members...)
	old := leads(t, c, members)
	f := &fetches{letGo: make(chan struct{}), all: make(chan struct{}), wanted: tasks}
	for i := range 2 {
		f.employ(t, reach(t, members...), fmt.Sprintf("w%d", i))
	}
	round := state.Submission{RequestID: "r", Kind: jobs.KindRound,
		Round: &jobs.Round{OnFailed: "commit", Duration: 600_000}}
	if _, err := c.Submit(t.Context(), round); err != nil {
		t.Fatal(err)
	}
	<-f.all
	died := time.Now()
	old.stop()
	next := leads(t, c, members)
	if took := time.Since(died); took > 3*time.Second {
		t.Errorf("another leader answered after %v", took)
	}
	if next == old {
		t.Error("the dead one leads")
	}
	if _, err := c.Submit(t.Context(), round); err != nil { // as one whose answer was lost
		t.Fatal(err)
	}
	close(f.letGo)
	job := ended(t, c, state.JobRef{RequestID: "r"})
	if job.Outcome != state.Commit || len(store.Commits()) != 1 {
		t.Errorf("the round ended as %+v with %d commits", job, len(store.Commits()))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.began) != tasks || f.lost != 0 {
		t.Errorf("%d attempts at %d tasks began, %d lost their lease", len(f.began), tasks, f.lost)
	}
}

func ended(t *testing.T, c *client.Client, ref state.JobRef) api.Job {
	t.Helper()
	var version uint64
	for {
		job, err := c.Watch(t.Context(), ref, version)
		if err != nil {
			t.Fatal(err)
		}
		if job.Over() {
			return job
		}
		version = job.Version
	}
}

// Every node answers, whoever leads, and shows the same group; leadership moves
// on request, and a member that is removed is no longer asked.
func TestAnyNodeAnswers(t *testing.T) {
	members := gang(t, 3, ledgertest.New(1))
	all := reach(t, members...)
	leader := leads(t, all, members)
	for _, m := range members {
		alone := reach(t, m)
		if _, err := alone.Status(t.Context()); err != nil {
			t.Errorf("%s: %v", m.id, err)
		}
		g, err := alone.Group(t.Context())
		if err != nil || g.Self != m.id || len(g.Members) != 3 {
			t.Errorf("%s shows %+v, %v", m.id, g, err)
		}
	}
	var other *member
	for _, m := range members {
		if m != leader {
			other = m
		}
	}
	if err := reach(t, other).Transfer(t.Context(), api.MemberRef{ID: other.id}); err != nil {
		t.Fatal(err)
	}
	if next := leads(t, all, members); next != other {
		t.Errorf("%s leads after a transfer to %s", next.id, other.id)
	}
	err := all.Remove(t.Context(), api.MemberRef{ID: "n9"})
	if !errors.Is(err, api.ErrBadRequest) {
		t.Errorf("remove a stranger: %v", err)
	}
	if err := all.Remove(t.Context(), api.MemberRef{ID: leader.id}); err != nil {
		t.Fatal(err)
	}
	g, err := reach(t, other).Group(t.Context())
	if err != nil || len(g.Members) != 2 {
		t.Errorf("after a removal: %+v, %v", g, err)
	}
	if err := <-leader.ended; !errors.Is(err, ErrRemoved) {
		t.Errorf("the removed leader ended with %v", err)
	}
}

// Without a majority nobody answers, and the health says so.
func TestLostQuorum(t *testing.T) {
	members := gang(t, 3, ledgertest.New(1))
	c := reach(t, members...)
	last := leads(t, c, members)
	health := func() int {
		r, err := http.Get(last.url + api.PathHealth)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		return r.StatusCode
	}
	if got := health(); got != http.StatusOK {
		t.Errorf("health of a leader: %d", got)
	}
	for _, m := range members {
		if m != last {
			m.stop()
		}
	}
	for i := 0; health() == http.StatusOK; i++ {
		if i > 200 {
			t.Fatal("it is healthy for 10 s without a majority")
		}
		time.Sleep(50 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if st, err := reach(t, last).Status(ctx); err == nil {
		t.Errorf("it answers %+v without a majority", st)
	}
}
