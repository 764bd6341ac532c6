// Package fault is an object store that fails as it is told: faults are values, chosen for each
// operation by a plan. It also keeps the list of operations, so that a test can run once without
// faults, see what was asked for, and run again with a fault at every operation in turn:
//
//	clean := fault.New(mem.New(), nil)
//	work(clean)
//	for n := range clean.Ops() {
//		work(fault.New(mem.New(), fault.At(n, fault.Fault{After: objstore.ErrUnavailable})))
//	}
//
// Without faults it keeps the contract of the store behind it. It starts no goroutine, and waits
// only as told, so it may be used in testing/synctest bubbles.
package fault

import (
	"context"
	"fmt"
	"sync"
	"time"

	"seine/formats/objstore"
)

// Op is an operation that a store is asked for.
type Op struct {
	N    int // its number, from 0, in the order of arrival
	Kind objstore.Kind
	Key  string // a list's prefix; of a delete the first key
	Off  int64  // of a read
	Len  int    // of a read, bytes; of a put, the body's; of a delete, the number of keys
}

// String prints the operation as a line of a trace.
func (o Op) String() string {
	if o.Kind == objstore.OpRead {
		return fmt.Sprintf("%d %s %s %d+%d", o.N, o.Kind, o.Key, o.Off, o.Len)
	}
	return fmt.Sprintf("%d %s %s", o.N, o.Kind, o.Key)
}

// Fault is what goes wrong with an operation, in this order; the zero value is nothing.
type Fault struct {
	Delay  time.Duration // before anything happens
	Before error         // the answer, instead of the operation
	Hang   bool          // nothing happens until the context is done
	Torn   bool          // a read or get delivers half of its bytes, then ErrUnavailable
	After  error         // the answer, although the operation happened (and succeeded)
}

// Plan chooses the fault of an operation. It is called by one goroutine at a time.
type Plan func(Op) Fault

// At is the plan of one fault, at operation n.
func At(n int, f Fault) Plan {
	return When(func(op Op) bool { return op.N == n }, f)
}

// When is the plan of one fault for all operations that match.
func When(match func(Op) bool, f Fault) Plan {
	return func(op Op) Fault {
		if match(op) {
			return f
		}
		return Fault{}
	}
}

// Times limits a plan to its first n faults.
func Times(n int, p Plan) Plan {
	return func(op Op) Fault {
		f := p(op)
		if n == 0 || f == (Fault{}) {
			return Fault{}
		}
		n--
		return f
	}
}

// Store is a store with faults.
type Store struct {
	store objstore.Store
	mu    sync.Mutex
	plan  Plan
	ops   []Op
}

var _ objstore.Store = (*Store)(nil)

// New returns s with the faults of a plan; nil has none.
func New(s objstore.Store, plan Plan) *Store { return &Store{store: s, plan: plan} }

// SetPlan changes the plan. Operations go on being numbered.
func (s *Store) SetPlan(plan Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = plan
}

// Ops returns the operations asked for so far, in the order of arrival.
func (s *Store) Ops() []Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Op(nil), s.ops...)
}

// begin logs the operation and does what its fault says comes before it.
func (s *Store) begin(ctx context.Context, op Op) (Fault, error) {
	f := s.choose(op)
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return f, fmt.Errorf("%s %s: %w", op.Kind, op.Key, ctx.Err())
		}
	}
	if f.Before != nil {
		return f, fmt.Errorf("%s %s: fault before: %w", op.Kind, op.Key, f.Before)
	}
	if f.Hang {
		<-ctx.Done()
		return f, fmt.Errorf("%s %s: fault: hangs: %w", op.Kind, op.Key, ctx.Err())
	}
	return f, nil
}

func (s *Store) choose(op Op) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	op.N = len(s.ops)
	s.ops = append(s.ops, op)
	if s.plan == nil {
		return Fault{}
	}
	return s.plan(op)
}

// end replaces the answer of an operation that succeeded.
func (f Fault) end(kind objstore.Kind, key string, err error) error {
	if err == nil && f.After != nil {
		return fmt.Errorf("%s %s: fault after: %w", kind, key, f.After)
	}
	return err
}

func torn(kind objstore.Kind, key string) error {
	return fmt.Errorf("%s %s: fault: torn: %w", kind, key, objstore.ErrUnavailable)
}

// Get is the store's, or a fault.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	f, err := s.begin(ctx, Op{Kind: objstore.OpGet, Key: key})
	if err != nil {
		return nil, err
	}
	data, err := s.store.Get(ctx, key)
	if f.Torn && err == nil {
		return nil, torn(objstore.OpGet, key)
	}
	if err := f.end(objstore.OpGet, key, err); err != nil {
		return nil, err
	}
	return data, nil
}

// ReadAt is the store's, or a fault; a torn one fills half of p.
func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	f, err := s.begin(ctx, Op{Kind: objstore.OpRead, Key: key, Off: off, Len: len(p)})
	if err != nil {
		return 0, err
	}
	if f.Torn {
		if n, err := s.store.ReadAt(ctx, key, p[:len(p)/2], off); err != nil {
			return n, err
		}
		return len(p) / 2, torn(objstore.OpRead, key)
	}
	n, err := s.store.ReadAt(ctx, key, p, off)
	return n, f.end(objstore.OpRead, key, err)
}

// Put is the store's, or a fault.
func (s *Store) Put(ctx context.Context, key string, body objstore.Body,
	o objstore.PutOptions) error {
	f, err := s.begin(ctx, Op{Kind: objstore.OpPut, Key: key, Len: int(body.Size())})
	if err != nil {
		return err
	}
	return f.end(objstore.OpPut, key, s.store.Put(ctx, key, body, o))
}

// Stat is the store's, or a fault.
func (s *Store) Stat(ctx context.Context, key string) (objstore.Info, error) {
	f, err := s.begin(ctx, Op{Kind: objstore.OpStat, Key: key})
	if err != nil {
		return objstore.Info{}, err
	}
	info, err := s.store.Stat(ctx, key)
	return info, f.end(objstore.OpStat, key, err)
}

// List is the store's, or a fault; a torn one ends after its first key.
func (s *Store) List(ctx context.Context, prefix, after string,
	fn func(objstore.Info) error) error {
	f, err := s.begin(ctx, Op{Kind: objstore.OpList, Key: prefix})
	if err != nil {
		return err
	}
	n := 0
	err = s.store.List(ctx, prefix, after, func(info objstore.Info) error {
		if n++; f.Torn && n > 1 {
			return torn(objstore.OpList, prefix)
		}
		return fn(info)
	})
	return f.end(objstore.OpList, prefix, err)
}

// Delete is the store's, or a fault.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return s.store.Delete(ctx)
	}
	f, err := s.begin(ctx, Op{Kind: objstore.OpDelete, Key: keys[0], Len: len(keys)})
	if err != nil {
		return err
	}
	return f.end(objstore.OpDelete, keys[0], s.store.Delete(ctx, keys...))
}
