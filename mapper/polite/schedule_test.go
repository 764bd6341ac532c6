package polite

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// answer is a request under way in the simulated web.
type answer struct {
	at      time.Time
	group   string
	outcome Outcome
}

type answers []answer

func (a answers) Len() int           { return len(a) }
func (a answers) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a answers) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *answers) Push(x any)        { *a = append(*a, x.(answer)) }
func (a *answers) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// simulate runs a queue over virtual time with so many sockets, until nothing can move or `end`.
// each is told of every grant and says when and how it ends.
func simulate(q *Queue[int], begin, end time.Time, sockets int,
	each func(now time.Time, g Grant[int]) answer) (now time.Time) {
	var flying answers
	for now = begin; now.Before(end); {
		wait := Forever
		for len(flying) < sockets {
			grant, ok, w := q.Next(now)
			if wait = w; !ok {
				break
			}
			heap.Push(&flying, each(now, grant))
		}
		next := end
		if len(flying) < sockets && wait != Forever {
			next = now.Add(wait)
		}
		if len(flying) > 0 && flying[0].at.Before(next) {
			next = flying[0].at
		}
		if next.Equal(end) && len(flying) == 0 {
			return now
		}
		now = next
		for len(flying) > 0 && !flying[0].at.After(now) {
			a := heap.Pop(&flying).(answer)
			q.Done(a.group, a.at, a.outcome)
		}
	}
	return now
}

// TestRandomSchedules checks, over random delays, answers, slots and sockets: from the end of one
// request of a group to the start of the next at least its delay passes and any pause asked for;
// never two at once; every item is granted once or left once.
func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			settings := Settings{}
			if rng.IntN(2) == 0 {
				settings.HardStop = at(float64(rng.IntN(3000)))
			}
			q := New[int](settings)
			free := map[string]time.Time{} // when the group may be asked again
			busy := map[string]bool{}
			times := make([]int, 600)
			groups := 1 + rng.IntN(40)
			for item := range times {
				name := fmt.Sprint("g", rng.IntN(groups))
				delay := time.Duration(rng.IntN(5000)) * time.Millisecond
				slot := at(float64(rng.IntN(30)))
				free[name] = latest(free[name], slot)
				if rng.IntN(20) == 0 {
					q.AddFirst(name, slot, delay, item)
				} else {
					q.Add(name, slot, delay, item)
				}
			}
			each := func(now time.Time, g Grant[int]) answer {
				if now.Before(free[g.Group]) || busy[g.Group] {
					t.Fatalf("%s asked at %v, free at %v, busy %v", g.Group, now, free[g.Group],
						busy[g.Group])
				}
				times[g.Item]++
				a := answer{now.Add(time.Duration(rng.IntN(4000)) * time.Millisecond), g.Group,
					outcome(rng)}
				if rng.IntN(30) == 0 {
					q.SetDelay(g.Group, time.Duration(rng.IntN(9000))*time.Millisecond)
				}
				if a.outcome.Kind != Unsent {
					free[g.Group] = a.at.Add(max(q.Delay(g.Group), a.outcome.RetryAfter))
				}
				return a
			}
			simulate(q, start, at(1e9), 1+rng.IntN(20), each)
			for _, left := range q.TakeLeft() {
				for _, item := range left.Items {
					times[item]++
				}
			}
			for item, n := range times {
				if n != 1 {
					t.Errorf("item %d came out %d times", item, n)
				}
			}
			if !q.Idle() {
				t.Errorf("%d pending, %d in flight at the end", q.Pending(), q.InFlight())
			}
		})
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func outcome(rng *rand.Rand) Outcome {
	switch rng.IntN(12) {
	case 0:
		return Outcome{Kind: BackOff, RetryAfter: time.Duration(rng.IntN(90)) * time.Second}
	case 1:
		return Outcome{Kind: Failed}
	case 2, 3:
		return Outcome{Kind: ConnectFailure}
	case 4:
		return Outcome{Kind: Unsent}
	}
	return Outcome{}
}

// TestHourOfThirtyHosts: every group gets exactly its share.
func TestHourOfThirtyHosts(t *testing.T) {
	q := New[int](Settings{HardStop: at(3600)})
	for i := range 30 * 4000 {
		q.Add(fmt.Sprint("host", i%30), start, time.Second, i)
	}
	counts := map[string]int{}
	simulate(q, start, at(4000), 100, func(now time.Time, g Grant[int]) answer {
		counts[g.Group]++
		return answer{now.Add(200 * time.Millisecond), g.Group, Outcome{}}
	})
	for name, n := range counts {
		if n != 3000 { // 3600 s ÷ (1 s + 0.2 s)
			t.Errorf("%s: %d requests, want 3000", name, n)
		}
	}
	left := 0
	for _, l := range q.TakeLeft() {
		left += len(l.Items)
	}
	if left != 30*1000 {
		t.Errorf("%d left, want 30000", left)
	}
}

// TestFairness: with sockets for a quarter of 2,000 groups, all are served alike, and none waits
// much longer than its turn, though some are fast and some have twenty times the items.
func TestFairness(t *testing.T) {
	q := New[int](Settings{})
	item := 0
	for group := range 2000 {
		for range 60 + 60*20*(group%100/99) {
			q.Add(fmt.Sprint("g", group), start, time.Second, item)
			item++
		}
	}
	counts := map[string]int{}
	last := map[string]time.Time{}
	worst := time.Duration(0)
	simulate(q, start, at(60), 500, func(now time.Time, g Grant[int]) answer {
		counts[g.Group]++
		worst = max(worst, now.Sub(latest(last[g.Group], start)))
		last[g.Group] = now
		return answer{now.Add(time.Second), g.Group, Outcome{}}
	})
	// 500 sockets × 60 s ÷ 1 s ÷ 2,000 groups = 15 each, one every 4 s.
	for group := range 2000 {
		if n := counts[fmt.Sprint("g", group)]; n < 14 || n > 16 {
			t.Errorf("group %d: %d requests, want 15", group, n)
		}
	}
	if worst > 5*time.Second {
		t.Errorf("a group waited %v", worst)
	}
}

// TestMemory: items are as small as T, and what was drained is given back.
func TestMemory(t *testing.T) {
	heapBytes := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heapBytes()
	q := New[uint32](Settings{})
	const n = 300_000
	for i := range uint32(n) {
		q.Add("one", start, 0, i)
	}
	if used := heapBytes() - before; used > n*8 {
		t.Errorf("%d bytes for %d items of 4", used, n)
	}
	for range n - 1000 {
		q.Next(start)
		q.Done("one", start, Outcome{})
	}
	if used := heapBytes() - before; used > 64<<10 {
		t.Errorf("%d bytes when 1,000 items are left", used)
	}
	runtime.KeepAlive(q)
}
