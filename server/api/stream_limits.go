package api

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

const (
	// maxStreamItems bounds the items of a message.
	maxStreamItems = 100
	// maxStreamWindow bounds the items of a stream that were received and not yet answered.
	maxStreamWindow = 1000
	// maxStreamBytes bounds the messages and results of a stream when it receives a message. That message may exceed it.
	maxStreamBytes = 16 << 20
	// maxStreamResultBytes bounds the results of a message that wait. One that does not fit is discarded, and evaluated
	// again in its turn. The results of at most two messages wait.
	maxStreamResultBytes = 8 << 20
	// streamMessages bounds the memory of all streams, in messages of maximum size. Beyond it, each takes one at a time.
	streamMessages = 4
	// maxMemoryWait bounds the wait of a stream that holds nothing while memory is short.
	maxMemoryWait = 5 * time.Second
	// memoryPollInterval is the interval at which streams check whether memory is still short.
	memoryPollInterval = 50 * time.Millisecond
)

// streamSlots bounds the streams of each caller and of all callers. If no slot is free, the stream that was idle for
// longest, and at least for maxIdle, loses its slot. Otherwise, a forgotten stream would keep its slot forever.
type streamSlots struct {
	max, maxPerCaller int
	maxIdle           time.Duration
	caller            func(context.Context) string
	memory            streamMemory
	draining          <-chan struct{} // nil: never
	start             time.Time

	mu    sync.Mutex
	taken map[*streamSlot]struct{}
}

func newStreamSlots(o *Options) *streamSlots {
	return &streamSlots{
		max: o.Limits.MaxStreams, maxPerCaller: o.Limits.MaxStreamsPerCaller, maxIdle: o.MaxStreamIdle, caller: o.Caller,
		memory: newStreamMemory(o.Limits.MaxMessageBytes, o.UnderPressure), draining: o.Draining, start: time.Now(),
		taken: map[*streamSlot]struct{}{},
	}
}

// A streamSlot is the slot of one stream.
type streamSlot struct {
	of     *streamSlots
	caller string
	active atomic.Int64 // the time of the last message, evaluation or result, in nanoseconds since of.start
	lost   chan error   // has an error when another stream has taken the slot
}

// errStreamDraining ends streams when the server shuts down.
var errStreamDraining = shuttingDown("send the items without results again, or to another replica")

// take takes a slot for a stream of the caller.
func (s *streamSlots) take(ctx context.Context) (*streamSlot, error) {
	select {
	case <-s.draining:
		return nil, errStreamDraining
	default:
	}
	slot := &streamSlot{of: s, caller: s.caller(ctx), lost: make(chan error, 1)}
	slot.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range []struct {
		name    string
		maximum int
		counts  func(*streamSlot) bool
	}{
		{"max_streams_per_caller", s.maxPerCaller, func(other *streamSlot) bool { return other.caller == slot.caller }},
		{"max_streams", s.max, func(*streamSlot) bool { return true }},
	} {
		n, idle := s.count(l.counts)
		if n < l.maximum {
			continue
		}
		if idle == nil {
			return nil, overloaded(l.name, l.maximum, "the limit %s, which is %d, is reached, and no stream was idle for %v: "+
				"end some, try again later, or call another replica", l.name, l.maximum, s.maxIdle)
		}
		delete(s.taken, idle)
		idle.lost <- overloaded(l.name, l.maximum, "the stream was idle for %v and another stream has taken its slot "+
			"(the limit %s is %d): send the items without results again", s.maxIdle, l.name, l.maximum)
	}
	s.taken[slot] = struct{}{}
	return slot, nil
}

// count returns the number of some streams, and the one that was idle for longest, nil if none was idle for maxIdle.
func (s *streamSlots) count(counts func(*streamSlot) bool) (n int, idle *streamSlot) {
	longest := int64(time.Since(s.start) - s.maxIdle)
	for slot := range s.taken {
		if !counts(slot) {
			continue
		}
		n++
		if active := slot.active.Load(); active <= longest {
			longest, idle = active, slot
		}
	}
	return n, idle
}

// touch notes that the stream makes progress.
func (slot *streamSlot) touch() { slot.active.Store(int64(time.Since(slot.of.start))) }

// release gives the slot back.
func (slot *streamSlot) release() {
	slot.of.mu.Lock()
	defer slot.of.mu.Unlock()
	delete(slot.of.taken, slot)
}

// streamMemory counts what all streams hold. A stream waits while memory is short, as for a caller that does not read.
type streamMemory struct {
	held  *atomic.Int64
	max   int64
	short func() bool
}

func newStreamMemory(maxMessageBytes int, short func() bool) streamMemory {
	return streamMemory{held: new(atomic.Int64), max: streamMessages * int64(maxMessageBytes), short: short}
}

// errMemoryShort ends a stream for which there is no memory.
var errMemoryShort = &Error{
	Reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
	Message: "the server is short of memory: send the items without results again later, or to another replica, " +
		"or give the server more memory",
}

// A window counts the items and bytes of a stream that were received and not yet answered. One goroutine waits for it.
type window struct {
	memory       *streamMemory
	items, bytes atomic.Int64
	removed      chan struct{} // has an element if something was removed since the last look
}

func newWindow(m *streamMemory) *window { return &window{memory: m, removed: make(chan struct{}, 1)} }

// wait waits until there is capacity for the largest message and memory is not short. A stream that holds nothing waits
// for memory only for a while.
func (w *window) wait(ctx context.Context) error {
	var late <-chan time.Time
	for {
		items, bytes := w.items.Load(), w.bytes.Load()
		var poll <-chan time.Time
		if items == 0 || items <= maxStreamWindow-maxStreamItems && bytes < maxStreamBytes && w.memory.held.Load() < w.memory.max {
			if !w.memory.short() {
				return ctx.Err()
			}
			poll = time.After(memoryPollInterval)
		}
		if items == 0 && late == nil {
			late = time.After(maxMemoryWait)
		}
		select {
		case <-w.removed:
		case <-poll:
		case <-late:
			return errMemoryShort
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// add adds items, and bytes.
func (w *window) add(items int, bytes int64) {
	w.items.Add(int64(items))
	w.bytes.Add(bytes)
	w.memory.held.Add(bytes)
}

// remove removes items, and bytes.
func (w *window) remove(items int, bytes int64) {
	w.add(-items, -bytes)
	select {
	case w.removed <- struct{}{}:
	default:
	}
}

// close removes everything when the stream has ended.
func (w *window) close() { w.memory.held.Add(-w.bytes.Swap(0)) }
