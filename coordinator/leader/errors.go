package leader

import (
	"context"
	"errors"
	"fmt"

	"seine/coordinator/api"
	"seine/coordinator/raftnode"
)

// away turns what the node answers into what a caller branches on.
func away(err error) error {
	switch {
	case errors.Is(err, raftnode.ErrNotLeader):
		return fmt.Errorf("%w (%v)", api.ErrNotLeader, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w (%v)", api.ErrUnavailable, err)
}

// final says whether an error of the ledger ends the leader.
func final(err error) bool {
	return errors.Is(err, ErrStepDown) || errors.Is(err, ErrHeld) || errors.Is(err, ErrDamaged)
}
