package api

import (
	"context"
	"sync/atomic"
	"time"
)

// The bounds of one stream. What is under way is what was received and not answered yet.
const (
	// maxStreamItems is how many items a message may have.
	maxStreamItems = 100
	// streamWindow is how many items may be under way.
	streamWindow = 1000
	// streamBytes is how many bytes may be under way when the next message is received: messages and results. A message is received whole, so that what
	// is under way may exceed it by one.
	streamBytes = 16 << 20
	// streamAnswers bounds the bytes of results that wait. One that finds no room is thrown away and made again when it is its turn.
	streamAnswers = 16 << 20
)

// window counts what is under way. One goroutine enters, others leave.
type window struct {
	memory       *streamsMemory
	items, bytes atomic.Int64
	left         chan struct{} // has an element if something left since it was looked at
}

func newWindow(m *streamsMemory) *window { return &window{memory: m, left: make(chan struct{}, 1)} }

// wait returns when there is room for the largest message. A message may always enter where nothing else is, unless memory is short. The error is that of the context, or errShort.
func (w *window) wait(ctx context.Context) error {
	for {
		items, bytes := w.items.Load(), w.bytes.Load()
		var look <-chan time.Time
		switch room := items <= streamWindow-maxStreamItems && bytes < streamBytes && !w.memory.full(); {
		case items == 0:
			if err := w.memory.wait(ctx); err != nil {
				return err
			}
			return ctx.Err()
		case room && !w.memory.pressure():
			return ctx.Err()
		case room:
			look = time.After(memoryLook)
		}
		select {
		case <-w.left:
		case <-look:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// enter adds items, or bytes to those that are there.
func (w *window) enter(items int, bytes int64) {
	w.items.Add(int64(items))
	w.bytes.Add(bytes)
	w.memory.held.Add(bytes)
}

// leave takes them off again.
func (w *window) leave(items int, bytes int64) {
	w.enter(-items, -bytes)
	select {
	case w.left <- struct{}{}:
	default:
	}
}

// close takes off what is left when the stream is over. Nothing enters or leaves any more.
func (w *window) close() { w.memory.held.Add(-w.bytes.Swap(0)) }
