package flow

import (
	"container/heap"
	"time"
)

// node is a tenant, a flow or a piece of work in the tree of a Scheduler. Scheduler.mu guards all nodes.
type node struct {
	parent   *node
	work     *Work            // of a leaf
	children map[string]*node // of the root and of tenants; those of a flow are in its queues only
	running  int              // seats that a tenant has
	active   int              // pieces of work at or below this node that run or wait
	sweepAt  int              // number of children from which idle ones are removed

	// used is the virtual time: the time for which seats were held, raised so that a child that becomes active does not
	// precede all others for long.
	used  time.Duration
	floor time.Duration // the least used of a child that becomes active
	front time.Duration // the most used of a child

	queues [2]queue // children with waiting work that is not long, and with long work
	index  [2]int   // position in these queues of the parent, from 1; 0: not in it
	seq    uint64   // order of arrival
}

func class(long bool) int {
	if long {
		return 1
	}
	return 0
}

// forget removes idle children and makes all used times equal. No work waits.
func (n *node) forget() {
	n.used, n.floor, n.front = 0, 0, 0
	for name, c := range n.children {
		if c.active == 0 {
			delete(n.children, name)
		} else {
			c.forget()
		}
	}
}

const minSweep = 256

// child returns the child of a name.
func (n *node) child(name string) *node {
	c := n.children[name]
	if c != nil {
		return c
	}
	if len(n.children) >= max(n.sweepAt, minSweep) {
		for key, c := range n.children {
			if c.active == 0 && c.used <= n.floor {
				delete(n.children, key)
			}
		}
		n.sweepAt = 2 * len(n.children)
	}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	c = &node{parent: n}
	n.children[name] = c
	return c
}

// place finds the tenant and the flow of w. s.mu is held.
func (s *Scheduler) place(w *Work) {
	w.tenant = s.root.child(w.key.Tenant)
	w.flow = w.tenant.child(w.key.Name)
	w.parent = w.flow
}

// enter counts w as active. s.mu is held.
func (s *Scheduler) enter(w *Work, now time.Duration) {
	if s.recent[0].tenant != w.tenant {
		s.recent[1] = s.recent[0]
	}
	s.recent[0] = arrival{w.tenant, now}
	for n := &w.node; n.parent != nil; n = n.parent {
		if n.active++; n.active == 1 {
			n.used = max(n.used, n.parent.floor)
		} else if least := n.parent.front - maxLag; n.used < least {
			n.used = least
			n.reorder()
		}
	}
}

// arrival is the beginning of work.
type arrival struct {
	tenant *node
	at     time.Duration
}

// reserved reports whether the last free seat is kept for another tenant than t, which is nil for a new one. s.mu is held.
func (s *Scheduler) reserved(t *node, now time.Duration) bool {
	if t == nil || t.running == 0 || t.running != s.seats-1 || t.running != len(s.running) {
		return false
	}
	for _, q := range s.root.queues {
		if len(q.nodes) > 1 || len(q.nodes) == 1 && q.nodes[0] != t {
			return false // other tenants wait
		}
	}
	for _, a := range s.recent {
		if a.tenant != nil && a.tenant != t && now-a.at < reservation {
			return true
		}
	}
	return false
}

// leave counts w as inactive. s.mu is held.
func (s *Scheduler) leave(w *Work) {
	for n := &w.node; n.parent != nil; n = n.parent {
		n.active--
	}
}

// raiseFloors sets the floors of the nodes above w to the least used time of an active child. All running work is
// charged. s.mu is held.
func (s *Scheduler) raiseFloors(w *Work) {
	for p := w.parent; p != nil; p = p.parent {
		var least *node
		consider := func(c *node) {
			if least == nil || c.used < least.used {
				least = c
			}
		}
		for i := range p.queues {
			if len(p.queues[i].nodes) > 0 {
				consider(p.queues[i].nodes[0])
			}
		}
		for _, r := range s.running {
			for n := &r.node; n.parent != nil; n = n.parent {
				if n.parent == p {
					consider(n)
				}
			}
		}
		if least != nil {
			p.floor = max(p.floor, least.used)
		}
	}
}

// enqueue adds w to the waiting work. s.mu is held.
func (s *Scheduler) enqueue(w *Work, now time.Duration) {
	w.state, w.since = waiting, now
	w.ticket++
	s.queued.Add(1)
	if w.seq == 0 {
		s.sequence++
		w.seq = s.sequence
	}
	c := class(w.long)
	for n := &w.node; n.parent != nil; n = n.parent {
		if n.index[c] > 0 {
			return
		}
		s.sequence++
		if n != &w.node {
			n.seq = s.sequence
		}
		heap.Push(n.parent.queue(c), n)
	}
}

// dequeue removes w from the waiting work. s.mu is held.
func (s *Scheduler) dequeue(w *Work, now time.Duration) {
	w.state = idle
	s.queued.Add(-1)
	s.waited.Add(int64(now - w.since))
	if s.queued.Load() == 0 {
		s.contended = now
	}
	c := class(w.long)
	for n := &w.node; n.parent != nil; n = n.parent {
		heap.Remove(n.parent.queue(c), n.index[c]-1)
		if len(n.parent.queues[c].nodes) > 0 {
			return
		}
	}
}

// next returns the waiting work whose turn it is, or nil. Long work is considered on demand.
func (n *node) next(long bool) *Work {
	for n.work == nil {
		var best *node
		for c := range n.queues {
			if len(n.queues[c].nodes) == 0 || c == class(true) && !long {
				continue
			}
			if first := n.queues[c].nodes[0]; best == nil || first.before(best) {
				best = first
			}
		}
		if best == nil {
			return nil
		}
		n = best
	}
	return n.work
}

func (n *node) before(m *node) bool { return n.used < m.used || n.used == m.used && n.seq < m.seq }

// precedes reports whether work that waits should take the seat of r: its tenant or its flow has used a slice less, or
// within a flow the work itself a workSlice. Of the long work of a flow, no piece takes the seat of another, because each can hold much memory.
func (w *Work) precedes(r *Work) bool {
	switch {
	case w.tenant != r.tenant:
		return w.tenant.used+slice <= r.tenant.used
	case w.flow != r.flow:
		return w.flow.used+slice <= r.flow.used
	case w.long && r.long:
		return false
	}
	return w.used+workSlice <= r.used
}

// reorder moves n in the queues of its parent after its used time changed.
func (n *node) reorder() {
	for c := range n.index {
		if n.index[c] > 0 {
			heap.Fix(n.parent.queue(c), n.index[c]-1)
		}
	}
}

func (n *node) queue(class int) *queue {
	q := &n.queues[class]
	q.class = class
	return q
}

// queue is a heap of nodes with waiting work of a class.
type queue struct {
	class int
	nodes []*node
}

// Len implements heap.Interface.
func (q *queue) Len() int { return len(q.nodes) }

// Less orders nodes by used time, and the long work of a flow by arrival.
func (q *queue) Less(i, j int) bool {
	a, b := q.nodes[i], q.nodes[j]
	if a.work != nil && q.class == class(true) {
		return a.seq < b.seq
	}
	return a.before(b)
}

// Swap implements heap.Interface.
func (q *queue) Swap(i, j int) {
	q.nodes[i], q.nodes[j] = q.nodes[j], q.nodes[i]
	q.nodes[i].index[q.class], q.nodes[j].index[q.class] = i+1, j+1
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	n := x.(*node) //nolint:forcetypeassert // only nodes are pushed
	n.index[q.class] = len(q.nodes) + 1
	q.nodes = append(q.nodes, n)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(q.nodes) - 1
	n := q.nodes[last]
	q.nodes[last] = nil
	q.nodes = q.nodes[:last]
	n.index[q.class] = 0
	return n
}
