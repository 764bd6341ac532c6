package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"seine/formats/crawl"
)

const migrateLong = `Brings a store to the format that this build writes. A build reads its own format and the
one before; it refuses a newer store with the reason and writes nothing to it. So far there
is one format: for a store that this build opens there is nothing to do, and it says so.`

func newMigrate(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring a store to the format of this build", Long: migrateLong,
		Example: "  seine migrate", Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.migrate(c.Context()) },
	}
}

// migrate opens the store, which refuses a format that this build does not read,
// and its newest snapshot, which refuses a commit that it does not.
func (a *app) migrate(ctx context.Context) error {
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	if a.json {
		return a.printJSON(map[string]any{"format": crawl.Format, "snapshot": l.head.N, "migrated": false})
	}
	_, err = fmt.Fprintf(a.out, "the store is of format %d, which this build writes: there is nothing to migrate\n",
		crawl.Format)
	return err
}
