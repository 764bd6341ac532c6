package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"seine/coordinator/api"
	"seine/coordinator/client"
)

const memberLong = `Shows and changes the group of coordinators that --coordinator names.

A new node joins by itself: seined coordinator --join. A node that is removed stops by
itself, and is not started again with the data that it has. A group of three survives
the loss of one, of five the loss of two: remove a node that is gone for good before
another joins, so that the lost one does not count. With more than half of the nodes
lost, nothing can be changed: seined coordinator --recover begins a new group.`

func newMember(a *app) *cobra.Command {
	c := &cobra.Command{Use: "member list|add|remove|transfer", Short: "The group of coordinators",
		Long: memberLong, Example: "  seine member list\n  seine member remove n2"}
	c.AddCommand(newMemberList(a), newMemberAdd(a), newMemberRemove(a), newMemberTransfer(a))
	return c
}

// asking makes a verb that asks the group.
func (a *app) asking(do func(ctx context.Context, conn *client.Client, args []string) error) func(
	*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if a.coordinator == "" {
			return usagef("which group? --coordinator URL names a node of it; a crawl in one process " +
				"has none")
		}
		conn, err := a.dial(withScheme(a.coordinator))
		if err != nil {
			return err
		}
		return do(c.Context(), conn, args)
	}
}

func newMemberList(a *app) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "Who is in it, and who leads",
		Example: "  seine member list --coordinator https://c1:7700", Args: arguments(cobra.NoArgs),
		RunE: a.asking(func(ctx context.Context, conn *client.Client, _ []string) error {
			g, err := conn.Group(ctx)
			if err != nil {
				return err
			}
			return a.printMembers(g)
		})}
}

func newMemberAdd(a *app) *cobra.Command {
	return &cobra.Command{Use: "add ID HOST:PORT", Short: "Take a node in, or change its address",
		Long: "Takes a node into the group by the address of its --raft; a node that is started with\n" +
			"--join asks for this itself. A member that is named again gets the new address.",
		Example: "  seine member add n4 10.0.0.4:7701", Args: arguments(cobra.ExactArgs(2)),
		RunE: a.asking(func(ctx context.Context, conn *client.Client, args []string) error {
			if _, _, err := net.SplitHostPort(args[1]); err != nil {
				return usagef("%q is not HOST:PORT, the address of the node's --raft", args[1])
			}
			return a.listAfter(ctx, conn, conn.Add(ctx, api.Member{ID: args[0], Peer: args[1]}))
		})}
}

func newMemberRemove(a *app) *cobra.Command {
	return &cobra.Command{Use: "remove ID", Short: "Take a node out; it stops by itself",
		Example: "  seine member remove n2", Args: arguments(cobra.ExactArgs(1)),
		RunE: a.asking(func(ctx context.Context, conn *client.Client, args []string) error {
			return a.listAfter(ctx, conn, conn.Remove(ctx, api.MemberRef{ID: args[0]}))
		})}
}

func newMemberTransfer(a *app) *cobra.Command {
	return &cobra.Command{Use: "transfer [ID]", Short: "Hand leadership to a node, or to any other",
		Long:    "Hands leadership over, before the leader's machine is worked on. No fetch stops.",
		Example: "  seine member transfer n3", Args: arguments(cobra.MaximumNArgs(1)),
		RunE: a.asking(func(ctx context.Context, conn *client.Client, args []string) error {
			var to api.MemberRef
			if len(args) > 0 {
				to.ID = args[0]
			}
			return a.listAfter(ctx, conn, conn.Transfer(ctx, to))
		})}
}

// listAfter lists the members after a change, once somebody leads them.
func (a *app) listAfter(ctx context.Context, conn *client.Client, err error) error {
	if err != nil {
		return err
	}
	for range 100 {
		g, err := conn.Group(ctx)
		if err != nil {
			return err
		}
		for _, m := range g.Members {
			if m.Leader {
				return a.printMembers(g)
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("it is done, and nobody leads yet: %w; `seine member list` looks again",
		api.ErrNotLeader)
}

func (a *app) printMembers(g api.Members) error {
	if a.json {
		return a.printJSON(g)
	}
	for _, m := range g.Members {
		role := "follows"
		if m.Leader {
			role = "leads"
		}
		if _, err := fmt.Fprintf(a.out, "%-12s %-24s %s\n", m.ID, m.Peer, role); err != nil {
			return err
		}
	}
	return nil
}
