// Command seine is the crawler's command line: it crawls, submits rounds,
// looks at what they left, and says why. Reading never needs a running crawl.
// Exit codes are listed in exit.go and in `seine help`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ(),
		interrupts: make(chan os.Signal, 2), called: calledAs(os.Args[0])}
	signal.Notify(a.interrupts, os.Interrupt, syscall.SIGTERM)
	os.Exit(a.run(context.Background(), os.Args[1:]))
}

// calledAs is what a person types to call the program again. `go run` keeps what it
// builds in a folder of its own, where nobody finds it.
func calledAs(program string) string {
	if strings.Contains(filepath.ToSlash(program), "/go-build") {
		return "go run ./cmd/seine"
	}
	return program
}

// run executes one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(a.err, "seine:", err)
	}
	return exitCode(err)
}
