package crdeval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

const (
	// maxUnanswered bounds the messages of a shared stream without results. Calls wait meanwhile, and are then sent
	// together. The server evaluates one message of a stream at a time.
	maxUnanswered = 1
	// maxWaiting and maxWaitingBytes bound the calls that wait to be sent. Further calls are unary.
	maxWaiting      = 1000
	maxWaitingBytes = 8 << 20
	// stallAfter is the time without a result after which calls are repeated as unary calls.
	stallAfter = 200 * time.Millisecond
)

var errStalled = errors.New("a shared stream returns no results")

// sharedStream is a stream that concurrent calls share. One goroutine sends items and another receives results, both in
// the order of the calls.
type sharedStream struct {
	kind  *sharedKind
	first proto.Message // has the settings
	owner *multiplexer
	key   string        // in owner.streams
	wake  chan struct{} // has an element if the sender may have work
	pause time.Duration // before another stream is opened, if this one ends without a result

	mu       sync.Mutex
	waiting  []*sharedCall // to be sent
	bytes    int           // of them
	sent     []*sharedCall // without a result
	results  int64         // received
	messages int           // sent, but without all their results
	progress time.Time     // when the last result was received, or calls began to wait for one
	used     time.Time     // when the last call began
	closed   bool          // accepts no more calls

	// Of a failed stream: when another stream may be opened, and its pause.
	retryAt   time.Time
	nextPause time.Duration
}

// add adds a call, unless the stream is closed or has too many calls.
func (s *sharedStream) add(c *sharedCall) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.waiting) >= maxWaiting || s.bytes+len(c.item) > maxWaitingBytes {
		return false
	}
	s.used = time.Now()
	if s.idle() {
		s.progress = s.used
	}
	s.waiting, s.bytes = append(s.waiting, c), s.bytes+len(c.item)
	s.wakeSender()
	return true
}

// idle reports whether the stream has no calls. The caller holds mu.
func (s *sharedStream) idle() bool { return len(s.waiting)+len(s.sent) == 0 }

// drop removes a call whose caller leaves. If it was sent, its result is discarded.
func (s *sharedStream) drop(c *sharedCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, c); i >= 0 {
		s.waiting, s.bytes = slices.Delete(s.waiting, i, i+1), s.bytes-len(c.item)
	}
}

func (s *sharedStream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// idleSince reports whether the stream has no calls, and when the last one began.
func (s *sharedStream) idleSince() (bool, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idle(), s.used
}

// close ends a stream without calls.
func (s *sharedStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.progress = true, time.Now()
	s.wakeSender()
}

func (s *sharedStream) wakeSender() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run serves the stream until it ends.
func (s *sharedStream) run() {
	ctx, cancel := context.WithCancelCause(s.owner.ctx)
	var others sync.WaitGroup
	others.Go(func() { s.watch(ctx, cancel) })
	stream, err := s.kind.open(ctx, s.owner.ClientConnInterface)
	if err == nil {
		others.Go(func() {
			if err := s.sendAll(ctx, stream); err != nil {
				cancel(err)
			}
		})
		err = s.receiveAll(stream)
	}
	cancel(err)
	others.Wait()
	s.fail(err)
}

// sendAll sends waiting calls until the stream is closed or ctx ends.
func (s *sharedStream) sendAll(ctx context.Context, stream grpc.ClientStream) error {
	if err := stream.SendMsg(s.first); err != nil {
		return ignoreEOF(err)
	}
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil
		}
		runtime.Gosched() // callers that are ready can add their calls
		for items := s.take(); items != nil; items = s.take() {
			if err := stream.SendMsg(s.kind.message(items)); err != nil {
				return ignoreEOF(err)
			}
		}
		if s.isClosed() {
			return stream.CloseSend()
		}
	}
}

// ignoreEOF returns nil for the error of a stream that has ended: then receiving returns the cause.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// take returns the items of the next message. It returns nil if no call waits or too many messages are unanswered.
func (s *sharedStream) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 || s.messages == maxUnanswered {
		return nil
	}
	n, size := 0, 0
	for n < len(s.waiting) && n < itemsAtOnce && size < bytesAtOnce {
		size += len(s.waiting[n].item)
		n++
	}
	items := make([]byte, 0, size)
	for _, c := range s.waiting[:n] {
		items = append(items, c.item...)
		c.item = nil
	}
	s.waiting[n-1].last = true
	s.messages++
	s.sent = append(s.sent, s.waiting[:n]...)
	s.waiting, s.bytes = slices.Delete(s.waiting, 0, n), s.bytes-size
	return items
}

// receiveAll receives results until the stream ends.
func (s *sharedStream) receiveAll(stream grpc.ClientStream) error {
	for {
		first, results, err := s.kind.receive(stream)
		if err == nil {
			err = s.deliver(first, results)
		}
		if err != nil {
			return err
		}
	}
}

// deliver passes results to their callers.
func (s *sharedStream) deliver(first int64, results []proto.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first != s.results || len(results) > len(s.sent) {
		return fmt.Errorf("results %d to %d are not those of the next calls", first, first+int64(len(results))-1)
	}
	for i, r := range results {
		c := s.sent[i]
		if c.last {
			s.messages--
		}
		c.done <- r
	}
	s.sent = slices.Delete(s.sent, 0, len(results))
	s.results, s.progress = s.results+int64(len(results)), time.Now()
	if len(s.waiting) > 0 {
		s.wakeSender()
	}
	return nil
}

// watch cancels the stream if it stalls. It closes the stream if it is idle.
func (s *sharedStream) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(stallAfter / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		stalled := (!s.idle() || s.closed) && time.Since(s.progress) >= stallAfter
		unused := !s.closed && s.idle() && time.Since(s.used) >= s.owner.options.IdleTimeout
		s.mu.Unlock()
		switch {
		case stalled:
			cancel(errStalled)
		case unused:
			s.owner.retire(s)
		}
	}
}

// fail lets the callers repeat their calls. Another stream may be opened after a pause.
func (s *sharedStream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := time.Duration(0)
	s.nextPause = firstPause
	if s.results == 0 {
		pause, s.nextPause = jitter(s.pause), min(2*s.pause, longPause)
	}
	delay, _ := overloadDelay(err)
	s.closed, s.retryAt = true, time.Now().Add(max(pause, delay))
	for _, c := range append(s.sent, s.waiting...) {
		c.done <- nil
	}
	s.sent, s.waiting, s.bytes = nil, nil, 0
}
