package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"seine/coordinator/leader"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/formats/tasklog"
	"seine/jobs"
	"seine/mapper/fetch"
	"seine/reducer/publish"
)

// Ledger is the coordinator's view of a crawl's store.
type Ledger struct {
	crawl   *Crawl
	scratch string
	// spent is what all calls have asked of the store, and told what of it is in the
	// row of a published job. Settings and Epoch run beside the other calls, of which
	// one runs at a time.
	spent objstore.Tally
	told  []objstore.Use
	// head and open are the newest snapshot and the specs above it, as Open found
	// and the other calls left them. Nobody else writes while this ledger's leader
	// leads; should another group have taken the crawl over, its spec or its commit
	// is met by ours, which is put if absent. So there is no need to look first.
	head *lsm.Manifest
	open []jobs.Spec
}

var _ leader.Ledger = (*Ledger)(nil)

// NewLedger is the ledger of a crawl; scratch holds files for moments, and, where a worker shares it,
// what that worker's task was doing when its process died.
func NewLedger(c *Crawl, scratch string) *Ledger { return &Ledger{crawl: c, scratch: scratch} }

// Open implements leader.Ledger.
func (l *Ledger) Open(ctx context.Context, known func(job uint64) bool) (uint64, []state.OpenJob, error) {
	ctx = objstore.Charge(ctx, &l.spent)
	if err := l.look(ctx); err != nil {
		return 0, nil, err
	}
	epoch, specs := max(l.head.Epoch, 1), l.open
	var open []state.OpenJob
	for _, spec := range specs {
		job := state.OpenJob{Spec: spec}
		if !known(spec.Job) {
			var err error
			if job, err = l.rebuild(ctx, spec); err != nil {
				return 0, nil, err
			}
		}
		open = append(open, job)
	}
	l.told = l.spent.Uses() // a start belongs to no job
	return epoch, open, nil
}

// TakeOver implements leader.Ledger.
func (l *Ledger) TakeOver(ctx context.Context) (uint64, error) {
	ctx = objstore.Charge(ctx, &l.spent)
	head, err := publish.TakeOver(ctx, l.crawl.Env(l.scratch), nil)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", l.crawl.Store.URL, err)
	}
	l.head = nil // there is a commit more
	return head.Epoch, nil
}

// Epoch implements leader.Ledger. It asks for one object, the next commit.
func (l *Ledger) Epoch(ctx context.Context) (uint64, error) {
	ctx = objstore.Charge(ctx, &l.spent)
	head, err := l.crawl.Head(ctx)
	if err != nil {
		return 0, err
	}
	return max(head.Epoch, 1), nil
}

// look reads what the store says of open jobs.
func (l *Ledger) look(ctx context.Context) error {
	head, err := l.crawl.Head(ctx)
	if err != nil {
		return err
	}
	specs, err := l.OpenSpecs(ctx, head)
	if err != nil {
		return err
	}
	l.head, l.open = head, specs
	return nil
}

// known looks unless it is known what there is.
func (l *Ledger) known(ctx context.Context) error {
	if l.head != nil {
		return nil
	}
	return l.look(ctx)
}

// OpenSpecs are the specs above the newest committed job: jobs commit in the
// order of their numbers, so they are all that is open.
func (l *Ledger) OpenSpecs(ctx context.Context, head *lsm.Manifest) ([]jobs.Spec, error) {
	var specs []jobs.Spec
	for n := head.Job + 1; ; n++ {
		spec, err := l.spec(ctx, n)
		if errors.Is(err, objstore.ErrNotExist) {
			return specs, nil
		}
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
}

func (l *Ledger) spec(ctx context.Context, n uint64) (jobs.Spec, error) {
	b, err := l.crawl.Store.Get(ctx, layout.Spec(n))
	if err != nil {
		return jobs.Spec{}, fmt.Errorf("read the spec of job %d: %w", n, err)
	}
	return jobs.DecodeSpec(b)
}

// rebuild finds what of an open job is in the store already.
func (l *Ledger) rebuild(ctx context.Context, spec jobs.Spec) (state.OpenJob, error) {
	job := state.OpenJob{Spec: spec, Done: map[jobs.Stage]map[int]jobs.Result{},
		Highest: map[jobs.Stage]map[int]uint64{}}
	logs := map[int]bool{}
	folder := layout.Job(spec.Job)
	err := l.crawl.Store.List(ctx, folder, "", func(i objstore.Info) error {
		parts := strings.SplitN(strings.TrimPrefix(i.Key, folder), "/", 4)
		var index int
		if len(parts) < 3 {
			return nil
		}
		if _, err := fmt.Sscanf(parts[1], "%d", &index); err != nil {
			return nil
		}
		stage := jobs.Stage(parts[0])
		switch name := parts[2]; {
		case name == "end":
			return l.rebuildEnd(ctx, &job, stage, index, i.Key)
		case name == "log":
			logs[index] = true
		default:
			var a layout.Attempt
			if _, err := fmt.Sscanf(name, "a%d-%d", &a.Epoch, &a.N); err == nil {
				set(job.Highest, stage, index, max(job.Highest[stage][index], a.N))
			}
		}
		return nil
	})
	if err != nil {
		return job, fmt.Errorf("rebuild job %d: %w", spec.Job, err)
	}
	for index := range logs {
		if err := l.rebuildLog(ctx, &job, index); err != nil {
			return job, err
		}
		if err := l.rebuildDeaths(&job, index); err != nil {
			return job, err
		}
	}
	return job, nil
}

// rebuildDeaths finds what a fetch task was parsing when processes died that had this scratch
// folder: a coordinator that dies with its worker has no other memory of it.
func (l *Ledger) rebuildDeaths(job *state.OpenJob, index int) error {
	if _, ended := job.Done[jobs.StageFetch][index]; ended {
		return nil
	}
	deaths, err := fetch.Deaths(l.scratch, job.Spec.Job, index)
	if err != nil {
		return fmt.Errorf("rebuild job %d: %w", job.Spec.Job, err)
	}
	if len(deaths) > 0 {
		if job.Deaths == nil {
			job.Deaths = map[int]map[string]int{}
		}
		job.Deaths[index] = deaths
	}
	return nil
}

func set[V any](m map[jobs.Stage]map[int]V, stage jobs.Stage, index int, v V) {
	if m[stage] == nil {
		m[stage] = map[int]V{}
	}
	m[stage][index] = v
}

func (l *Ledger) rebuildEnd(ctx context.Context, job *state.OpenJob, stage jobs.Stage, index int,
	key layout.Key) error {
	b, err := l.crawl.Store.Get(ctx, key)
	if err != nil {
		return err
	}
	result := jobs.Result{End: key}
	if stage == jobs.StageGenerate {
		end, err := taskend.DecodeGenerate(b)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		result.Counts = end.Counts
	} else {
		end, err := taskend.DecodeReduce(b)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		result.Counts = end.Counts
	}
	set(job.Done, stage, index, result)
	return nil
}

func (l *Ledger) rebuildLog(ctx context.Context, job *state.OpenJob, index int) error {
	keyOf := func(n int) string { return layout.Log(job.Spec.Job, index, n) }
	s, err := tasklog.Read(ctx, objstore.WriteOnce{Store: l.crawl.Store}, keyOf)
	if err != nil {
		return fmt.Errorf("rebuild job %d: %w", job.Spec.Job, err)
	}
	set(job.Highest, jobs.StageFetch, index, max(job.Highest[jobs.StageFetch][index], s.Highest.N))
	if s.End == nil {
		return nil
	}
	for n := range s.Next {
		b, err := l.crawl.Store.Get(ctx, keyOf(n))
		if err != nil {
			return fmt.Errorf("rebuild job %d: %w", job.Spec.Job, err)
		}
		entry, err := tasklog.Decode(keyOf(n), b)
		if err != nil {
			return err
		}
		if entry.Kind == tasklog.KindEnd {
			set(job.Done, jobs.StageFetch, index, jobs.Result{End: keyOf(n), Counts: s.End.Counts})
			return nil
		}
	}
	return fmt.Errorf("job %d: the log of fetch task %d has an end in no entry", job.Spec.Job, index)
}

// Plan implements leader.Ledger.
func (l *Ledger) Plan(ctx context.Context, d leader.Draft) (jobs.Spec, error) {
	ctx = objstore.Charge(ctx, &l.spent)
	if err := l.known(ctx); err != nil {
		return jobs.Spec{}, err
	}
	head := l.head
	var err error
	spec := jobs.Spec{Format: jobs.SpecFormat, Job: head.Job + 1, Kind: d.Kind, Epoch: d.Epoch,
		Base: head.N, Now: max(d.Now, head.Now+1000), Settings: d.Settings, RequestID: d.RequestID,
		Round: d.Round, Inject: d.Inject, Requeue: d.Requeue, Restore: d.Restore, Prune: d.Prune,
		Compact: d.Compact}
	for _, o := range l.open {
		spec.Job, spec.Now = o.Job+1, max(spec.Now, o.Now+1000)
	}
	if spec.Settings == 0 {
		if spec.Settings, err = l.crawl.NewestSettings(ctx); err != nil {
			return spec, err
		}
	}
	set, err := l.crawl.Settings(ctx, spec.Settings)
	if err != nil {
		return spec, fmt.Errorf("%w: %w", state.ErrRefused, err)
	}
	topN := int64(0)
	if spec.Round != nil {
		r := *spec.Round
		r.TopN = orDefault(r.TopN, set.TopN)
		r.Duration = orDefault(r.Duration, set.RoundDuration.D().Milliseconds())
		if r.OnFailed == "" {
			r.OnFailed = set.OnFailed
		}
		if r.DueNow && r.DueTicket == 0 {
			r.DueTicket = spec.Job - 1
		}
		spec.Round, topN = &r, r.TopN
	}
	spec.Ranges = layout.Split(jobs.RoundTasks(topN, head.Known, d.Workers))
	if spec.Prune != nil {
		spec.Ranges = layout.Split(1) // an archive is judged whole
	}
	if spec.Restore != nil {
		err = l.crawl.restorable(ctx, head, spec.Restore.Snapshot)
	}
	return spec, err
}

func orDefault(v, d int64) int64 {
	if v == 0 {
		return d
	}
	return v
}

// PutSpec implements leader.Ledger.
func (l *Ledger) PutSpec(ctx context.Context, spec jobs.Spec) (jobs.Spec, error) {
	ctx = objstore.Charge(ctx, &l.spent)
	b, err := spec.Encode()
	if err != nil {
		return spec, err
	}
	err = objstore.PutIfAbsent(ctx, l.crawl.Store, layout.Spec(spec.Job), b)
	if err == nil {
		l.opened(spec)
		return spec, nil
	}
	if !errors.Is(err, objstore.ErrExists) {
		return spec, err
	}
	there, err := l.spec(ctx, spec.Job)
	if err != nil {
		return spec, err
	}
	if there.RequestID != spec.RequestID {
		l.head = nil // there is more than is known here
		return spec, fmt.Errorf("job %d: %w", spec.Job, leader.ErrExists)
	}
	l.opened(there)
	return there, nil
}

// opened adds a spec to those that are known to be open.
func (l *Ledger) opened(spec jobs.Spec) {
	l.open = slices.DeleteFunc(l.open, func(o jobs.Spec) bool { return o.Job == spec.Job })
	l.open = append(l.open, spec)
}

// Publish implements leader.Ledger.
func (l *Ledger) Publish(ctx context.Context, p leader.Publication) (leader.Published, error) {
	ctx = objstore.Charge(ctx, &l.spent)
	if err := l.known(ctx); err != nil {
		return leader.Published{}, err
	}
	outcome := "committed"
	if p.Outcome == state.Discard {
		outcome = "discarded"
	}
	commit, counts, err := publish.Publish(ctx, l.crawl.Env(l.scratch), l.head, publish.Job{
		Spec: p.Spec, Ends: p.Ends, Epoch: p.Epoch, Outcome: outcome,
		Discard: p.Outcome == state.Discard, Ended: time.Now().UnixMilli(), Cost: l.cost})
	if errors.Is(err, publish.ErrStepDown) {
		return leader.Published{}, fmt.Errorf("%w: %w", leader.ErrStepDown, err)
	}
	if err != nil {
		l.head = nil // it may have happened
		return leader.Published{}, err
	}
	l.published(commit, p.Spec.Job)
	return leader.Published{Commit: commit.N, Counts: counts}, nil
}

// bucketLook is how often a bucket is asked for newer settings that no verb has told of: 60
// requests an hour, in which a single worker fetches a million pages.
const bucketLook = time.Minute

// Settings implements leader.Ledger. Versions have no gaps, so that asking for
// the next one is enough.
func (l *Ledger) Settings(ctx context.Context, known uint64) (leader.Settings, error) {
	ctx = objstore.Charge(ctx, &l.spent)
	newest, err := l.crawl.SettingsAfter(ctx, known)
	if err != nil {
		return leader.Settings{}, err
	}
	set, err := l.crawl.StoredSettings(ctx, newest)
	if err != nil {
		return leader.Settings{}, err
	}
	found := leader.Settings{Version: newest}
	if l.crawl.Store.Root == "" {
		found.Again = bucketLook
	}
	if p := set.Paused; p != nil {
		found.Paused = &state.Pause{Round: p.Round, At: p.At, By: p.By, Reason: p.Reason}
	}
	return found, nil
}

// published moves on to a commit.
func (l *Ledger) published(c *lsm.Commit, job uint64) {
	l.open = slices.DeleteFunc(l.open, func(o jobs.Spec) bool { return o.Job <= job })
	switch next, err := l.head.Apply(c); {
	case c.Whole != nil:
		l.head = c.Whole
	case err == nil:
		l.head = next
	default: // it is not the next one: look when it is needed
		l.head = nil
	}
}

// cost is what the calls since the last published job have asked of the store,
// with the puts that are still to come.
func (l *Ledger) cost() map[string]int64 {
	spent := l.spent.Uses()
	counts := map[string]int64{}
	for name, n := range storeCounts(objstore.Since(spent, l.told)) {
		counts[coordinatorPrefix+name] = n
	}
	counts[coordinatorPrefix+countPrefix+string(objstore.OpPut)] += publish.PutsAfter
	l.told = spent
	return counts
}

// Due implements leader.Ledger.
func (l *Ledger) Due(ctx context.Context) (bool, int64, error) {
	head, err := l.crawl.Head(ctx)
	if err != nil {
		return false, 0, err
	}
	waits, err := l.crawl.Waits(ctx, head, Cut{Now: max(time.Now().UnixMilli(), head.Now+1000)})
	if err != nil {
		return false, 0, err
	}
	return waits.Due > 0, waits.Of(schema.WhySlot).First, nil
}

// CompactNext implements leader.Ledger.
func (l *Ledger) CompactNext(ctx context.Context) (*state.Submission, error) {
	ctx = objstore.Charge(ctx, &l.spent)
	if err := l.known(ctx); err != nil {
		return nil, err
	}
	head := l.head
	if len(head.Room) > 0 {
		return &state.Submission{RequestID: fmt.Sprintf("room-%d", head.N), Kind: jobs.KindRequeue,
			Settings: head.Settings, Requeue: &jobs.Requeue{Room: head.Room}}, nil
	}
	merges := lsm.Pick(head)
	if len(merges) == 0 {
		return l.pruneNext(ctx, head)
	}
	return &state.Submission{RequestID: fmt.Sprintf("compact-%d", head.N), Kind: jobs.KindCompact,
		Settings: head.Settings, Compact: &jobs.Compact{Merges: merges}}, nil
}
