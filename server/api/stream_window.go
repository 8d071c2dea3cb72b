package api

import (
	"context"
	"sync/atomic"
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
	items, bytes atomic.Int64
	left         chan struct{} // has an element if something left since it was looked at
}

func newWindow() *window { return &window{left: make(chan struct{}, 1)} }

// wait returns when there is room for the largest message; the error is that of the context. A message may always enter where nothing else is.
func (w *window) wait(ctx context.Context) error {
	for {
		items, bytes := w.items.Load(), w.bytes.Load()
		if items == 0 || items <= streamWindow-maxStreamItems && bytes < streamBytes {
			return ctx.Err()
		}
		select {
		case <-w.left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// enter adds items, or bytes to those that are there.
func (w *window) enter(items int, bytes int64) {
	w.items.Add(int64(items))
	w.bytes.Add(bytes)
}

// leave takes them off again.
func (w *window) leave(items int, bytes int64) {
	w.enter(-items, -bytes)
	select {
	case w.left <- struct{}{}:
	default:
	}
}
