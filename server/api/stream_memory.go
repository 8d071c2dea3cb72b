package api

import (
	"context"
	"sync/atomic"
	"time"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

const (
	// streamsMessages is how many of the largest messages all streams together may hold before each of them takes one message at a time.
	streamsMessages = 4
	// memoryPatience is how long a stream that holds nothing itself waits while memory is short.
	memoryPatience = 5 * time.Second
	// memoryLook is how often it looks whether memory still is.
	memoryLook = 50 * time.Millisecond
)

// streamsMemory is what all streams together hold. A call that is one message is refused before that is read, where memory is short; a stream is not refused what it has
// sent, and goes on sending. So it is made to wait, as by a caller that does not read.
type streamsMemory struct {
	held     *atomic.Int64
	most     int64
	pressure func() bool
	patience time.Duration
}

func newStreamsMemory(maxMessageBytes int, pressure func() bool) streamsMemory {
	if pressure == nil {
		pressure = func() bool { return false }
	}
	return streamsMemory{held: new(atomic.Int64), most: streamsMessages * int64(maxMessageBytes), pressure: pressure, patience: memoryPatience}
}

// full says that the streams hold as much as they may together.
func (m *streamsMemory) full() bool { return m.held.Load() >= m.most }

// errShort is why a stream ends for which there was no memory.
var errShort = &problem{
	reason:  crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
	message: "the server is short of memory: send the items whose results have not come later, or to another replica, or give it more memory",
}

// wait waits while memory is short, for a stream that holds nothing whose end would make it less so.
func (m *streamsMemory) wait(ctx context.Context) error {
	if !m.pressure() {
		return nil
	}
	late := time.NewTimer(m.patience)
	defer late.Stop()
	look := time.NewTicker(memoryLook)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if !m.pressure() {
				return nil
			}
		case <-late.C:
			return errShort
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
