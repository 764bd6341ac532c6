package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a program that runs beside this one.
type process struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{}
}

// start starts a program whose output goes to a log; it returns when the log has the word.
func (o options) start(program, log, word string, args ...string) (*process, error) {
	path := o.path(log)
	out, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	p := &process{name: filepath.Base(log), cmd: exec.Command(o.path(program), args...),
		ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	err = errors.Join(p.cmd.Start(), out.Close())
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		_ = p.cmd.Wait() // its state says how it ended
		close(p.ended)
	}()
	for {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read the log of %s: %w", program, err), p.end())
		}
		if bytes.Contains(text, []byte(word)) {
			return p, nil
		}
		select {
		case <-p.ended:
			return nil, fmt.Errorf("%s ended:\n%s", program, text)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// end asks a process to end and waits for it.
func (p *process) end() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with %d; see its log", p.name, code)
	}
	return nil
}

// tick is a unit of CPU time of /proc on Linux, in seconds (proc_pid_stat(5); USER_HZ is 100).
const tick = 0.01

// cpu is the CPU time that a process has used, in seconds.
func (p *process) cpu() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("CPU time of %s: %w", p.name, err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return sum(strings.Fields(rest), 11, 12) // utime, stime
}

// machine is the CPU time that all have used, in seconds.
func machine() (float64, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("CPU time of the machine: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return sum(strings.Fields(line), 1, 2, 3, 6, 7) // user, nice, system, irq, softirq
}

func sum(fields []string, places ...int) (float64, error) {
	total := 0.0
	for _, i := range places {
		if i >= len(fields) {
			return 0, fmt.Errorf("%d fields in /proc, not %d", len(fields), i+1)
		}
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0, fmt.Errorf("CPU time in /proc: %w", err)
		}
		total += float64(n) * tick
	}
	return total, nil
}

// sample is the CPU time used up to a time, all in seconds.
type sample struct{ at, workers, web, machine float64 }

type samples []sample

// sampler takes samples until it is stopped.
type sampler struct {
	web     *process
	workers []*process
	quit    chan struct{}
	all     sync.WaitGroup
	taken   samples
	err     error
}

func watch(web *process, workers []*process) (*sampler, error) {
	s := &sampler{web: web, workers: workers, quit: make(chan struct{})}
	if err := s.take(); err != nil {
		return nil, err
	}
	s.all.Go(func() {
		every := time.NewTicker(200 * time.Millisecond)
		defer every.Stop()
		for s.err == nil {
			select {
			case <-s.quit:
				return
			case <-every.C:
				s.err = s.take()
			}
		}
	})
	return s, nil
}

func (s *sampler) take() error {
	now := sample{at: seconds(time.Now())}
	var err error
	for _, w := range s.workers {
		n, e := w.cpu()
		now.workers, err = now.workers+n, errors.Join(err, e)
	}
	var webErr, allErr error
	now.web, webErr = s.web.cpu()
	now.machine, allErr = machine()
	s.taken = append(s.taken, now)
	return errors.Join(err, webErr, allErr)
}

func (s *sampler) stop() (samples, error) {
	close(s.quit)
	s.all.Wait()
	return s.taken, s.err
}

// between are the CPUs in use between two times, on average.
func (s samples) between(from, to float64) (workers, web, machine float64) {
	last := len(s) - 1
	a := s[min(sort.Search(len(s), func(i int) bool { return s[i].at >= from }), last)]
	b := s[min(sort.Search(len(s), func(i int) bool { return s[i].at >= to }), last)]
	if b.at <= a.at {
		return 0, 0, 0
	}
	d := b.at - a.at
	return (b.workers - a.workers) / d, (b.web - a.web) / d, (b.machine - a.machine) / d
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// answer is one that the web gave: when it ended and how long it took, in seconds.
type answer struct{ end, took float64 }

// requests are the answers to requests for pages that ended since began, in order, as the access
// log of testweb has them.
func requests(log string, began time.Time) ([]answer, error) {
	text, err := os.ReadFile(log)
	if err != nil {
		return nil, fmt.Errorf("read the access log: %w", err)
	}
	var all []answer
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "GET /robots.txt ") {
			continue
		}
		var a answer
		if _, err := fmt.Sscan(line, &a.end, &a.took); err != nil {
			return nil, fmt.Errorf("access log: %q: %w", line, err)
		}
		if a.end >= seconds(began) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b answer) int { return cmp.Compare(a.end, b.end) })
	return all, nil
}
