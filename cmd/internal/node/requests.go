package node

import (
	"context"
	"maps"
	"slices"
	"strings"

	"seine/formats/objstore"
	"seine/jobs"
	"seine/jobs/worker"
)

// The names under which a task's requests to the store stand among its counts:
// store_get … by kind, and the content that went either way in bytes. They reach
// the round's row as all counts do, those of a stage but the last as STAGE_NAME.
// They are of the attempts that ended their tasks.
const (
	countPrefix  = "store_"
	bytesRead    = countPrefix + "bytes_read"
	bytesWritten = countPrefix + "bytes_written"
	// coordinatorPrefix begins the counts of what planning and publishing cost.
	coordinatorPrefix = "coordinator_"
)

// storeCounts are the counts of a tally.
func storeCounts(uses []objstore.Use) map[string]int64 {
	counts := map[string]int64{}
	for _, u := range uses {
		counts[countPrefix+string(u.Kind)] += u.Requests
		switch {
		case u.Kind == objstore.OpPut:
			counts[bytesWritten] += u.Bytes
		case u.Bytes > 0:
			counts[bytesRead] += u.Bytes
		}
	}
	return counts
}

// counted adds what a task asked of the store to its counts.
func counted(run worker.Runner) worker.Runner {
	return func(ctx context.Context, t jobs.Task, l *worker.Lease, p *worker.Progress) (jobs.Result, error) {
		var tally objstore.Tally
		result, err := run(objstore.Charge(ctx, &tally), t, l, p)
		if err != nil {
			return result, err
		}
		all := maps.Clone(result.Counts)
		if all == nil {
			all = map[string]int64{}
		}
		maps.Copy(all, storeCounts(tally.Uses()))
		result.Counts = all
		return result, nil
	}
}

// StageRequests is what one stage of a job asked of the store.
type StageRequests struct {
	Stage        string           `json:"stage"` // or coordinator
	Total        int64            `json:"total"`
	By           map[string]int64 `json:"by_kind"` // get, read, put, stat, list, delete
	BytesRead    int64            `json:"bytes_read"`
	BytesWritten int64            `json:"bytes_written"`
}

// Requests reads a job's requests to the store back from the counts of its row,
// in the order of its stages.
func Requests(kind jobs.Kind, counts map[string]int64) []StageRequests {
	stages, err := jobs.Stages(kind)
	if err != nil || len(stages) == 0 {
		return nil
	}
	last := stages[len(stages)-1]
	var all []StageRequests
	add := func(stage, prefix string) {
		s := StageRequests{Stage: stage, By: map[string]int64{}, BytesRead: counts[prefix+bytesRead],
			BytesWritten: counts[prefix+bytesWritten]}
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			kind, ok := strings.CutPrefix(name, prefix+countPrefix)
			if ok && !strings.HasPrefix(kind, "bytes_") {
				s.By[kind] += counts[name]
				s.Total += counts[name]
			}
		}
		if s.Total > 0 {
			all = append(all, s)
		}
	}
	for _, stage := range stages {
		if stage == last {
			add(string(stage), "")
		} else {
			add(string(stage), string(stage)+"_")
		}
	}
	add("coordinator", coordinatorPrefix)
	return all
}
