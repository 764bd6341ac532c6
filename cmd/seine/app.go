package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
)

// app is one run of the command: where it reads and prints, and what was said
// for all verbs.
type app struct {
	in         io.Reader
	out, err   io.Writer
	environ    []string
	interrupts chan os.Signal
	called     string   // how a person calls the program again
	web        node.Web // how the web is reached; the zero value is the network

	store       string // --store
	coordinator string // --coordinator
	ca          string // --ca
	tokenFile   string // --token-file
	snapshot    uint64 // --snapshot
	json        bool   // --json
}

const rootLong = `Seine crawls the web in rounds, as batch jobs over Parquet tables on object
storage. A round chooses the best URLs that are due, asks for them with manners,
and commits what came as a new snapshot, whole or not at all. What is known, and
why anything was or was not fetched, can be asked while a crawl runs and after.

A crawl lives in a store: a folder, or s3://bucket/prefix. Its place is --store,
else $SEINE_STORE, else the line "store:" of ./seine.yaml, else ./crawl.

` + exitCodesHelp

const rootExample = `  seine demo                                  # a small built-in web, no network
  seine crawl --contact me@example.org https://example.org/
  seine status
  seine explain https://example.org/private/
  seine query 'SELECT domain, count(*) FROM urls GROUP BY 1 ORDER BY 2 DESC'`

// newRoot builds the tree of commands. Each verb has a file of its own.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "seine",
		Short:         "A batch web crawler that works in rounds on object storage",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       node.Version,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(advise(c, err)) })
	root.CompletionOptions.HiddenDefaultCmd = true
	flags := root.PersistentFlags()
	flags.StringVar(&a.store, "store", "", "the crawl's store: a folder or s3://bucket/prefix "+
		"(default: $SEINE_STORE, else \"store:\" of seine.yaml, else ./crawl)")
	flags.StringVar(&a.coordinator, "coordinator", a.env("SEINE_COORDINATOR"), "addresses (`URL,...`) of "+
		"running coordinators, which name the store (default: the process which has the store)")
	flags.StringVar(&a.ca, "ca", "", "PEM file of the authority that signed their certificates")
	flags.StringVar(&a.tokenFile, "token-file", "", "file whose first line is the token for them; "+
		"$SEINE_TOKEN is one")
	flags.BoolVar(&a.json, "json", false, "print facts as JSON")
	root.AddCommand(verbs(a)...)
	return root
}

// verbs are the commands below the root, in the order of the help.
func verbs(a *app) []*cobra.Command {
	return []*cobra.Command{
		newCrawl(a),
		newDemo(a),
		newStatus(a),
		newInject(a),
		newSeeds(a),
		newRequeue(a),
		newRound(a),
		newURL(a),
		newPage(a),
		newHost(a),
		newDomain(a),
		newInspect(a),
		newQuery(a),
		newCatalog(a),
		newCheck(a),
		newSnapshot(a),
		newMigrate(a),
		newPrune(a),
		newDF(a),
		newCopy(a),
		newExplain(a),
		newRobots(a),
		newNormalize(a),
		newParse(a),
		newSettings(a),
		newBlock(a),
		newUnblock(a),
		newBlocks(a),
		newPause(a),
		newResume(a),
		newMember(a),
		newTakeover(a),
	}
}

// env is a variable of the environment.
func (a *app) env(name string) string {
	for _, pair := range a.environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// storeName is where the crawl lies: where the coordinators say, if some are
// named and no store is.
func (a *app) storeName(ctx context.Context) (string, error) {
	if a.coordinator != "" && a.store == "" {
		conn, err := a.dial(withScheme(a.coordinator))
		if err != nil {
			return "", err
		}
		crawl, err := conn.Crawl(ctx)
		if err == nil || a.env("SEINE_STORE") == "" {
			return crawl.Store, err
		}
	}
	for _, name := range []string{a.store, a.env("SEINE_STORE"), yamlStore("seine.yaml")} {
		if name != "" {
			return name, nil
		}
	}
	return filepath.Join(".", "crawl"), nil
}

// yamlStore reads the line `store: NAME` of seine.yaml; the file's other keys
// are settings.
func yamlStore(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "store:"); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// open opens the crawl for reading; done lets it go.
func (a *app) open(ctx context.Context) (c *node.Crawl, done func(), err error) {
	return a.openCrawl(ctx, false)
}

func (a *app) openCrawl(ctx context.Context, create bool) (*node.Crawl, func(), error) {
	name, err := a.storeName(ctx)
	if err != nil {
		return nil, nil, err
	}
	store, err := node.OpenStore(ctx, name, create)
	if err != nil {
		return nil, nil, absentStore(err, create)
	}
	c, err := node.OpenCrawl(ctx, store, create)
	if err != nil {
		_ = store.Close() // nothing was written
		return nil, nil, err
	}
	return c, func() { _ = c.Store.Close() }, nil
}

func absentStore(err error, create bool) error {
	if create {
		return err
	}
	return absent(err)
}
