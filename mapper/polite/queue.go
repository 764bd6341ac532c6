package polite

import (
	"cmp"
	"math"
	"time"
)

// Settings of a Queue. The zero value works.
type Settings struct {
	HardStop    time.Time     // slots at or after it are given back; zero: none
	LongDelay   time.Duration // above it one page a round is asked for; 0: 300 s
	FirstPause  time.Duration // first back-off without Retry-After; 0: 60 s
	MaxPause    time.Duration // bound of back-off and Retry-After; 0: 24 h
	MaxFailures int           // connection failures in a row that rest a group; 0: 5
}

func (s Settings) filled() Settings {
	s.LongDelay = cmp.Or(s.LongDelay, 300*time.Second)
	s.FirstPause = cmp.Or(s.FirstPause, 60*time.Second)
	s.MaxPause = cmp.Or(s.MaxPause, MaxRetryAfter)
	s.MaxFailures = cmp.Or(s.MaxFailures, 5)
	return s
}

// Forever is the wait that Next reports when no passing of time alone frees a group.
const Forever = time.Duration(math.MaxInt64)

// Queue is the politeness queue of one fetch task. T says which URL: an index into the task's list
// keeps it small.
type Queue[T any] struct {
	settings Settings
	groups   map[string]*group[T]
	heap     []*group[T] // those with items and nothing in flight, earliest slot on top
	turn     uint64      // numbers entries into the heap: equal slots are served in order
	pending  int
	inFlight int
	closed   bool // Close or Stop was called
	stopped  bool // Stop was called
	held     bool // Hold was called, and not Release
	left     []Left[T]
}

type group[T any] struct {
	name     string
	items    lane[T]
	first    lane[T]
	delay    time.Duration
	next     time.Time // the slot
	last     time.Time // end of the last request sent
	turn     uint64
	index    int // in the heap, -1: not there
	busy     bool
	urgent   bool // what is in flight came from first
	pages    int  // requests sent from items
	sent     int  // all requests sent
	failures int  // connection failures in a row
	pause    time.Duration
	paused   time.Time // the back-off's end
	out      Why       // why the group takes no more part; 0: it does
}

// New makes an empty queue.
func New[T any](s Settings) *Queue[T] {
	return &Queue[T]{settings: s.filled(), groups: make(map[string]*group[T])}
}

// Grant is leave to send one request.
type Grant[T any] struct {
	Group string
	Item  T
	First bool      // it came by AddFirst
	Slot  time.Time // since when the group was free to be asked (zero: from the start)
}

// Add puts an item at the end of its group. The group's slot is not before notBefore and its delay
// not below delay: of several values the latest and the longest hold. An item of a group that has
// ended its part in this round goes to Left at once.
func (q *Queue[T]) Add(name string, notBefore time.Time, delay time.Duration, item T) {
	g := q.group(name, notBefore, delay)
	g.items.push(item)
	q.pending++
	q.settle(g)
}

// AddFirst is Add for what must precede the group's other items, such as robots.txt; several keep
// their order.
func (q *Queue[T]) AddFirst(name string, notBefore time.Time, delay time.Duration, item T) {
	g := q.group(name, notBefore, delay)
	g.first.push(item)
	q.pending++
	q.settle(g)
}

// PutBack returns a granted item to the front of where it came from; Done(…, Unsent) must follow.
// It is for a URL whose robots.txt turns out to be unknown: put back, AddFirst, Done.
func (q *Queue[T]) PutBack(grant Grant[T]) {
	g := q.groups[grant.Group]
	if grant.First {
		g.first.unpop(grant.Item)
	} else {
		g.items.unpop(grant.Item)
	}
	q.pending++
	q.settle(g)
}

// group finds or makes a group and applies a slot and delay to it.
func (q *Queue[T]) group(name string, notBefore time.Time, delay time.Duration) *group[T] {
	g := q.groups[name]
	if g == nil {
		g = &group[T]{name: name, index: -1}
		if q.stopped {
			g.out = WhyStopped
		}
		q.groups[name] = g
	}
	g.delay = max(g.delay, delay, 0)
	if notBefore.After(g.next) {
		g.next = notBefore
	}
	return g
}

// Next grants the request whose slot came first, if one has come. Otherwise it reports how long it
// is until the next slot, and Forever when only Add or Done can change that. At and after the hard
// stop everything still waiting is left.
func (q *Queue[T]) Next(now time.Time) (grant Grant[T], ok bool, wait time.Duration) {
	if stop := q.settings.HardStop; !q.held && !q.stopped && !stop.IsZero() && !now.Before(stop) {
		q.Stop(WhyStopped)
	}
	if len(q.heap) == 0 || q.held {
		return grant, false, Forever
	}
	g := q.heap[0]
	if wait := g.next.Sub(now); wait > 0 {
		return grant, false, wait
	}
	q.remove(g)
	g.busy = true
	q.inFlight++
	q.pending--
	grant = Grant[T]{Group: g.name, Slot: g.next}
	if g.urgent = g.first.len() > 0; g.urgent {
		grant.Item, grant.First = g.first.pop(), true
	} else {
		grant.Item = g.items.pop()
	}
	return grant, true, 0
}

// SetDelay raises a group's delay to d (a Crawl-delay that was learned, the floor for a public
// address). While a request is in flight it holds from its Done on; otherwise it counts from the
// end of the last one.
func (q *Queue[T]) SetDelay(name string, d time.Duration) {
	g := q.groups[name]
	if g == nil {
		g = q.group(name, time.Time{}, d)
	}
	if d <= g.delay {
		return
	}
	g.delay = d
	if slot := g.last.Add(d); !g.busy && g.sent > 0 && slot.After(g.next) {
		g.next = slot
	}
	q.settle(g)
}

// Delay is the delay in force for a group.
func (q *Queue[T]) Delay(name string) time.Duration {
	if g := q.groups[name]; g != nil {
		return g.delay
	}
	return 0
}

// Close says that the task's list has been added whole. What is met on the way (a robots.txt) is
// still taken; a Runner ends when the queue is closed and idle.
func (q *Queue[T]) Close() { q.closed = true }

// Idle tells that nothing waits and nothing is in flight.
func (q *Queue[T]) Idle() bool { return q.pending == 0 && q.inFlight == 0 }

// Pending is the number of items that wait.
func (q *Queue[T]) Pending() int { return q.pending }

// InFlight is the number of requests granted and not yet Done.
func (q *Queue[T]) InFlight() int { return q.inFlight }

// settle puts a group where it belongs after any change: out, in the heap, or neither.
func (q *Queue[T]) settle(g *group[T]) {
	if g.busy {
		return
	}
	if g.out == WhyNone {
		g.out = q.verdict(g)
	}
	switch waits := g.items.len()+g.first.len() > 0; {
	case g.out != WhyNone && waits:
		q.leave(g)
	case waits && g.index < 0:
		q.push(g)
	case waits:
		q.fix(g)
	case g.index >= 0:
		q.remove(g)
	}
}
