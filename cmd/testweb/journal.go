package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"time"

	"seine/mapper/webtest"
)

// journalEvery is how often requests that ended are written.
const journalEvery = 100 * time.Millisecond

// journal writes requests as an access log, each when it has ended: end time and
// duration in seconds, host, status, bytes, request, agent, validator.
type journal struct {
	log     *webtest.Log
	file    *os.File // nil: none is kept
	written int      // requests
}

func openJournal(path string, log *webtest.Log) (*journal, error) {
	j := &journal{log: log}
	if path == "" {
		return j, nil
	}
	var err error
	j.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("access log: %w; --log names another file", err)
	}
	return j, nil
}

// write appends what ended since the last call.
func (j *journal) write() error {
	if j.file == nil {
		return nil
	}
	ended := j.log.Ended(j.written)
	out := bufio.NewWriter(j.file)
	for _, r := range ended {
		fmt.Fprintln(out, entry(r))
	}
	j.written += len(ended)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("access log: %w", err)
	}
	return nil
}

func entry(r webtest.Request) string {
	validator := "-"
	if r.Conditional {
		validator = "sent"
	}
	return fmt.Sprintf("%.6f %.6f %s %d %d %q %q %q %q", float64(r.End.UnixMicro())/1e6,
		r.End.Sub(r.At).Seconds(), r.Host, r.Status, r.Bytes, "GET "+r.Path+" HTTP/1.1", r.Agent, validator, "-")
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	return errors.Join(j.write(), j.file.Close())
}
