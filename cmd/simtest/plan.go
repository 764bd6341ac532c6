package main

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// kind says what a strike does.
type kind int

const (
	killed       kind = iota // a worker; half of them are started again beside their spools
	drained                  // a worker is asked to end, and another comes
	cutOff                   // a worker from the coordinators, not from the web
	storeless                // a worker from coordinators and store: what was fetched is sealed late
	workerSet                // the wall clock of a worker that nobody answers
	workerStops              // a worker is stopped, and wakes: all has gone on meanwhile
	workerSleeps             // a worker's machine sleeps: its monotonic clock stands still
	sluggish                 // a worker hears late, then nothing
	isolated                 // a coordinator, from the others
	split                    // a coordinator, with a worker that reaches no other
	leaderSet                // the wall clock of a coordinator
	leaderStops              // a coordinator is stopped, beside a worker that reaches no other
	disbanded                // all coordinators are lost
	takenOver                // another group takes the crawl over, while the one that has it works on
	revived                  // so too, but the one that has it is stopped, and wakes when all is over
	kinds                    // how many there are
)

var kindNames = [kinds]string{"killed", "drained", "cut off", "storeless", "worker's clock set",
	"worker stopped", "worker asleep", "sluggish", "isolated", "split", "coordinator's clock set",
	"coordinator stopped", "disbanded", "taken over", "revived"}

func (k kind) String() string { return kindNames[k] }

// often is how often each comes, of all of them.
var often = [kinds]int{killed: 8, drained: 4, cutOff: 16, storeless: 12, workerSet: 8,
	workerStops: 8, workerSleeps: 8, sluggish: 4, isolated: 8, split: 8, leaderSet: 4,
	leaderStops: 8, disbanded: 1, takenOver: 1, revived: 1}

// longest is how long at most what a strike does lasts; what is not here has ended at once.
var longest = [kinds]time.Duration{cutOff: 60 * s, storeless: 60 * s, workerSet: 60 * s,
	workerStops: 60 * s, workerSleeps: 60 * s, sluggish: 30 * s, isolated: 30 * s, split: 30 * s,
	leaderStops: 16 * s, disbanded: 30 * s, takenOver: 150 * s, revived: 150 * s}

const s = time.Second

// strike is one fault. Whom it meets is a number that chooses among those who are there.
type strike struct {
	at    time.Duration // since the storm began
	kind  kind
	whom  uint64
	other uint64        // another such number
	lasts time.Duration // what it does
	by    time.Duration // by how much a clock is set
	aimed bool          // it is the plan's aim, and meets somebody who is at work
}

func (s strike) String() string {
	return fmt.Sprintf("%v %s whom=%d other=%d lasts=%v by=%v", s.at, s.kind, s.whom%60, s.other%60,
		s.lasts, s.by)
}

// plan decides all faults from a seed alone: no order in which goroutines run, and nothing that the
// system does, changes the strikes, or what becomes of a request that is made.
type plan struct {
	seed uint64
	aim  aim
}

// aim is a fault of which two of three strikes are, each while somebody fetches. The zero value
// aims at nothing.
type aim struct {
	kind     kind
	from, to time.Duration // how long it lasts
	rest     time.Duration // in which no other strike comes; 0: it aims at nothing
}

// pause is the longest time between two strikes.
const pause = 16 * time.Second

// strikes are without end.
func (p plan) strikes() iter.Seq[strike] {
	return func(yield func(strike) bool) {
		at := time.Duration(0)
		for n := uint64(0); ; n++ {
			dice := rand.New(rand.NewPCG(p.seed, n))
			at += p.aim.rest + time.Duration(dice.Int64N(int64(pause)))
			s := strike{at: at, whom: dice.Uint64(), other: dice.Uint64()}
			s.kind, s.aimed = p.kind(dice.Uint64())
			unit := dice.Float64()
			s.lasts = time.Duration(unit * float64(longest[s.kind]))
			if s.aimed {
				s.lasts = p.aim.from + time.Duration(unit*float64(p.aim.to-p.aim.from))
			}
			s.by = jump(dice.Float64(), dice.Uint64())
			if s.kind == takenOver || s.kind == revived {
				s.lasts = max(s.lasts, longest[s.kind]/2)
			}
			if !yield(s) {
				return
			}
		}
	}
}

func (p plan) kind(drawn uint64) (k kind, aimed bool) {
	if p.aim.rest > 0 && drawn%3 > 0 {
		return p.aim.kind, true
	}
	all := uint64(0)
	for _, n := range often {
		all += uint64(n)
	}
	at := int(drawn / 3 % all)
	for k, n := range often {
		if at -= n; at < 0 {
			return kind(k), false
		}
	}
	return cutOff, false
}

// jump is by how much a clock is set: from a second to three days, as often in seconds as in days,
// and three times of four back, for set forward a lease only ends sooner.
func jump(unit float64, drawn uint64) time.Duration {
	d := time.Duration(float64(time.Second) * math.Exp(unit*math.Log(3*24*3600)))
	if drawn%4 == 0 {
		return d
	}
	return -d
}

// chance is a number in [0, 1) that the words decide, with the seed.
func (p plan) chance(words ...any) float64 {
	h := fnv.New64a()
	fmt.Fprintln(h, p.seed)
	fmt.Fprintln(h, words...)
	x := h.Sum64() // FNV mixes its last bytes badly: finish as SplitMix64 does
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

// fate is what becomes of a request.
type fate struct {
	pause         time.Duration
	before, after bool // it fails, without having been heard, or with
}

// One request to the store in failOneIn fails, and one call to a coordinator; half of them have
// been heard.
const (
	failOneIn = 60
	slowest   = 3 * time.Second // few are: the mean is a twentieth of it
)

// ofRequest is the fate of the n-th request that somebody makes of the store with these words.
func (p plan) ofRequest(who, what string, n int) fate {
	f := p.ofCall(who, what, n)
	f.pause = time.Duration(math.Pow(p.chance("pause", who, what, n), 20) * float64(slowest))
	return f
}

// ofCall is the fate of the n-th call of a kind that somebody makes of the coordinators.
func (p plan) ofCall(who, what string, n int) fate {
	return drawn(p.chance(who, what, n), failOneIn)
}

// ofOrder is the same for somebody who submits jobs: there are few, so they fail more often.
func (p plan) ofOrder(who, what string, n int) fate { return drawn(p.chance(who, what, n), 3) }

func drawn(unit float64, oneIn int) fate {
	x := unit * 2 * float64(oneIn)
	return fate{before: x < 1, after: x >= 1 && x < 2}
}
