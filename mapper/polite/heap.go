package polite

// The heap is indexed, so that a group whose slot moves is put right where it stands.

func (q *Queue[T]) push(g *group[T]) {
	q.turn++
	g.turn = q.turn
	g.index = len(q.heap)
	q.heap = append(q.heap, g)
	q.up(g.index)
}

func (q *Queue[T]) remove(g *group[T]) {
	last := len(q.heap) - 1
	at := g.index
	q.swap(at, last)
	q.heap[last] = nil
	q.heap = q.heap[:last]
	g.index = -1
	if at < last {
		q.fix(q.heap[at])
	}
}

func (q *Queue[T]) fix(g *group[T]) {
	if !q.up(g.index) {
		q.down(g.index)
	}
}

func (q *Queue[T]) less(i, j int) bool {
	a, b := q.heap[i], q.heap[j]
	if c := a.next.Compare(b.next); c != 0 {
		return c < 0
	}
	return a.turn < b.turn
}

func (q *Queue[T]) swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.heap[i].index, q.heap[j].index = i, j
}

func (q *Queue[T]) up(i int) (moved bool) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			break
		}
		q.swap(i, parent)
		i, moved = parent, true
	}
	return moved
}

func (q *Queue[T]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q.heap); child++ {
			if q.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.swap(i, least)
		i = least
	}
}

// lane is a first-in first-out list in one slice: no pointers an item, and a drained front is given
// back to the allocator.
type lane[T any] struct {
	items []T
	head  int
}

func (l *lane[T]) len() int { return len(l.items) - l.head }

func (l *lane[T]) push(item T) { l.items = append(l.items, item) }

func (l *lane[T]) pop() T {
	var zero T
	item := l.items[l.head]
	l.items[l.head] = zero
	l.head++
	switch {
	case l.head == len(l.items):
		*l = lane[T]{}
	case l.head >= 1024 && l.head > len(l.items)/2:
		*l = lane[T]{items: append([]T(nil), l.items[l.head:]...)}
	}
	return item
}

// unpop puts an item in front again.
func (l *lane[T]) unpop(item T) {
	if l.head > 0 {
		l.head--
		l.items[l.head] = item
		return
	}
	l.items = append([]T{item}, l.items...)
}

func (l *lane[T]) take() []T {
	items := l.items[l.head:]
	*l = lane[T]{}
	return items
}
