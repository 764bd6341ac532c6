package webtest

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
)

// Request is one request as the server saw it.
type Request struct {
	At           time.Time // of its first byte
	End          time.Time // of the last byte of the answer; zero while under way
	Host, Domain string
	Path         string // with query, as sent
	Status       int
	Bytes        int64
	Agent        string
	Conditional  bool
}

// Log is what the server saw, in order of arrival.
type Log struct {
	mu       sync.Mutex
	requests []Request
	over     []int // of these, those that have ended, in that order
	hosts    map[string]int
}

func (l *Log) begin(r *Request) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hosts == nil {
		l.hosts = map[string]int{}
	}
	l.hosts[r.Host]++
	l.requests = append(l.requests, *r)
	return len(l.requests) - 1
}

func (l *Log) end(i, status int, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[i].End, l.requests[i].Status, l.requests[i].Bytes = time.Now(), status, n
	l.over = append(l.over, i)
}

func (l *Log) abort(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[i].End = l.requests[i].At
	l.over = append(l.over, i)
}

func (l *Log) count(host string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hosts[host]
}

// Requests returns what was seen so far.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Request(nil), l.requests...)
}

// Ended returns the requests that have ended, in that order, but for the first n.
func (l *Log) Ended(n int) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	ended := make([]Request, 0, len(l.over)-n)
	for _, i := range l.over[n:] {
		ended = append(ended, l.requests[i])
	}
	return ended
}

// Judgement is how a crawler behaved towards one domain.
type Judgement struct {
	Domain    string
	Requests  int
	MinGap    time.Duration // between the end of an answer and the next request; -1: one request
	Short     int           // gaps under the delay
	Overlaps  int           // requests begun before the answer before was over
	Forbidden int           // requests that robots.txt forbids
	Early     int           // requests to a host before its robots.txt
	Repeats   int           // URLs asked for more than once
}

// Manners judges the log: delay gives the least gap for a domain; slack is what
// the clocks may be off. Domains come sorted.
func (l *Log) Manners(w *Web, delay func(domain string) time.Duration, slack time.Duration) []Judgement {
	by := map[string][]Request{}
	for _, r := range l.Requests() {
		by[r.Domain] = append(by[r.Domain], r)
	}
	var all []Judgement
	for domain, requests := range by {
		sort.SliceStable(requests, func(i, j int) bool { return requests[i].At.Before(requests[j].At) })
		all = append(all, judge(w, domain, requests, delay(domain)-slack))
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Domain < all[j].Domain })
	return all
}

func judge(w *Web, domain string, requests []Request, least time.Duration) Judgement {
	j := Judgement{Domain: domain, Requests: len(requests), MinGap: -1}
	robots, seen := map[string]bool{}, map[string]bool{}
	for i, r := range requests {
		if i > 0 && !requests[i-1].End.IsZero() {
			gap := r.At.Sub(requests[i-1].End)
			if gap < 0 {
				j.Overlaps++
			}
			if gap < least {
				j.Short++
			}
			if j.MinGap < 0 || gap < j.MinGap {
				j.MinGap = max(gap, 0)
			}
		}
		if strings.HasPrefix(r.Path, "/robots") {
			robots[r.Host] = true
			continue
		}
		if !robots[r.Host] {
			j.Early++
		}
		if h, ok := w.Host(r.Host); ok && h.forbids(r.Path) {
			j.Forbidden++
		}
		if key := r.Host + " " + r.Path; seen[key] {
			j.Repeats++
		} else {
			seen[key] = true
		}
	}
	return j
}

// Faulty lists what is wrong in a judgement, empty when nothing is. Repeats are
// not counted: whether they are wrong depends on the rounds.
func (j Judgement) Faulty() string {
	var faults []string
	add := func(n int, what string) {
		if n > 0 {
			faults = append(faults, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(j.Short, "short gaps (least "+j.MinGap.String()+")")
	add(j.Overlaps, "overlapping requests")
	add(j.Forbidden, "forbidden requests")
	add(j.Early, "requests before robots.txt")
	if len(faults) == 0 {
		return ""
	}
	return j.Domain + ": " + strings.Join(faults, ", ")
}
