package api

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/flow"
)

const (
	// maxStreamItems bounds the items of a message.
	maxStreamItems = 100
	// maxStreamResultBytes bounds the unsent results of a message. A result that does not fit is discarded, and its item
	// is evaluated again later.
	maxStreamResultBytes = 8 << 20
	// maxMemoryWait bounds the wait of a stream while memory is short.
	maxMemoryWait = 5 * time.Second
	// memoryPollInterval is the interval at which streams check whether memory is still short.
	memoryPollInterval = 50 * time.Millisecond
)

// streamSlots bounds the streams of each caller and of all callers. If no slot is free, the stream that was idle for
// longest, and at least for maxIdle, loses its slot. Otherwise, a forgotten stream would keep its slot forever. Before
// its first message, a stream can lose its slot to other callers at any time, because its caller is not authorized yet.
type streamSlots struct {
	max, maxPerCaller int
	maxIdle           time.Duration
	short             func() bool     // reports whether memory is short
	draining          <-chan struct{} // nil: never
	start             time.Time

	mu    sync.Mutex
	taken map[*streamSlot]struct{}
}

func newStreamSlots(o *Options) *streamSlots {
	return &streamSlots{
		max: o.Limits.MaxStreams, maxPerCaller: o.Limits.MaxStreamsPerCaller, maxIdle: o.MaxStreamIdle,
		short: o.UnderPressure, draining: o.Draining, start: time.Now(),
		taken: map[*streamSlot]struct{}{},
	}
}

// A streamSlot is the slot of one stream.
type streamSlot struct {
	of     *streamSlots
	caller string
	active atomic.Int64 // the time of the last message, evaluation or result, in nanoseconds since of.start
	begun  atomic.Bool  // the first message has arrived
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
	slot := &streamSlot{of: s, caller: call.Of(ctx).Caller, lost: make(chan error, 1)}
	slot.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range []struct {
		name    string
		maximum int
		of      *string
	}{{"max_streams_per_caller", s.maxPerCaller, &slot.caller}, {"max_streams", s.max, nil}} {
		n, idle := s.count(l.of)
		if n < l.maximum {
			continue
		}
		if idle == nil {
			return nil, overloaded(l.name, l.maximum, "the limit %s, which is %d, is reached, and no stream was idle for %v: "+
				"end some, try again later, or call another replica", l.name, l.maximum, s.maxIdle)
		}
		delete(s.taken, idle)
		idle.lost <- overloaded(l.name, l.maximum, "the stream was idle for %v, or had no message yet, and another stream has taken its "+
			"slot (the limit %s is %d): send the items without results again", s.maxIdle, l.name, l.maximum)
	}
	s.taken[slot] = struct{}{}
	return slot, nil
}

// count returns the number of the streams of a caller or, if it is nil, of all, and the one that may lose its slot.
func (s *streamSlots) count(caller *string) (n int, idle *streamSlot) {
	ofCaller := caller != nil
	longest := int64(time.Since(s.start) - s.maxIdle)
	for slot := range s.taken {
		if ofCaller && slot.caller != *caller {
			continue
		}
		n++
		active := slot.active.Load()
		if !slot.begun.Load() && !ofCaller {
			active -= int64(s.maxIdle)
		}
		if active <= longest {
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

// errMemoryShort ends a stream for which there is no memory.
var errMemoryShort = &Error{
	Reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
	Message: "the server is short of memory: send the items without results again later, or to another replica, " +
		"or give the server more memory",
}

// waitForMemory waits while memory is short, for at most maxMemoryWait.
func (s *streamSlots) waitForMemory(ctx context.Context) error {
	for end := time.Now().Add(maxMemoryWait); s.short(); {
		if time.Now().After(end) {
			return errMemoryShort
		}
		flow.Sleep(ctx, memoryPollInterval)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}
