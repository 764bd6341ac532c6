package worker

import (
	"maps"
	"slices"
	"sync"
)

// Report is how far a task is.
type Report struct {
	// Counts are running totals of the attempt, named by the runner.
	Counts map[string]int64 `json:"counts,omitempty"`
	// Parsing names the URLs whose bodies are being parsed, sorted.
	Parsing []string `json:"parsing,omitempty"`
	// Note says in words what the task waits for.
	Note string `json:"note,omitempty"`
}

// Progress is where a runner writes how far it is. The heartbeats carry it.
type Progress struct {
	mu      sync.Mutex
	counts  map[string]int64
	parsing map[string]int
	note    string
}

// Add adds to a running total.
func (p *Progress) Add(name string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		p.counts = map[string]int64{}
	}
	p.counts[name] += n
}

// Set sets a running total.
func (p *Progress) Set(name string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		p.counts = map[string]int64{}
	}
	p.counts[name] = n
}

// Note says what the task waits for; "" for nothing.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note = text
}

// Parsing says that the body of a URL is being parsed until done is called: a
// page during which two workers died is set aside.
func (p *Progress) Parsing(url string) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parsing == nil {
		p.parsing = map[string]int{}
	}
	p.parsing[url]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.parsing[url]--; p.parsing[url] == 0 {
			delete(p.parsing, url)
		}
	})
}

// Report copies what has been written.
func (p *Progress) Report() Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Report{
		Counts:  maps.Clone(p.counts),
		Parsing: slices.Sorted(maps.Keys(p.parsing)),
		Note:    p.note,
	}
}
