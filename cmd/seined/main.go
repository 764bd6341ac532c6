// Command seined is the daemon: a coordinator of a group, or a worker. It holds
// no DuckDB and needs no C library. Every flag is also a variable SEINE_NAME of
// the environment; exit codes are listed in exit.go and in `seined help`.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seine/cmd/internal/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := &app{err: os.Stderr, environ: os.Environ()}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// app is one run of the daemon.
type app struct {
	err     io.Writer
	environ []string
}

const rootLong = `seined runs a crawl on many machines: a few coordinators, which agree by Raft on who
does what, and any number of workers, which do it. All data are in the store; what
the coordinators keep on their own disks can be lost.

Every flag can be given as a variable of the environment instead, SEINE_ and its
name: --tls-cert is SEINE_TLS_CERT. Both end in order on SIGTERM: a worker seals
what it fetched, a coordinator hands leadership over.

` + exitCodesHelp

// run executes one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := &cobra.Command{Use: "seined", Short: "The daemon of the crawler Seine: coordinator or worker",
		Long: rootLong, SilenceErrors: true, SilenceUsage: true, Version: node.Version}
	root.SetErr(a.err)
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w; `%s --help` lists what there is", err, c.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newCoordinator(a), newWorker(a))
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(a.err, "seined:", err)
	}
	return exitCode(err)
}

// fromEnvironment gives flags that were not said their variables' values.
func (a *app) fromEnvironment(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := "SEINE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value, ok := a.env(name); ok && !f.Changed && err == nil {
			if set := flags.Set(f.Name, value); set != nil {
				err = usagef("%s: %w", name, set)
			}
		}
	})
	return err
}

func (a *app) env(name string) (value string, ok bool) {
	for _, pair := range a.environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value, true
		}
	}
	return "", false
}
