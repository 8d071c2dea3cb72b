package api

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"golang.org/x/sync/semaphore"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// streams bounds the streams under way and ends them when the server drains.
type streams struct {
	most     int
	places   *semaphore.Weighted
	draining <-chan struct{} // nil: never
}

func newStreams(most int, draining <-chan struct{}) *streams {
	return &streams{most: most, places: semaphore.NewWeighted(int64(most)), draining: draining}
}

// errStreamDraining is why a stream ends that neither its caller nor a message of it has ended.
var errStreamDraining = &problem{
	reason:  crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
	message: "the server is shutting down: send the items whose results have not come to another replica, or again",
}

// enter takes a place for a stream.
func (s *streams) enter() (leave func(), err error) {
	select {
	case <-s.draining:
		return nil, errStreamDraining
	default:
	}
	if !s.places.TryAcquire(1) {
		return nil, &problem{
			reason:   crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
			message:  fmt.Sprintf("there are as many streams as the limit max_streams lets, %d: end others, or call another replica", s.most),
			metadata: map[string]string{"limit": "max_streams", "maximum": fmt.Sprint(s.most)},
		}
	}
	return func() { s.places.Release(1) }, nil
}

// firstOf receives the first message of a stream, unless the server begins to drain before it comes. Other errors are io.EOF and a *brokenStream.
func firstOf[M any](s *streams, receive func() (M, error)) (first M, err error) {
	came := make(chan struct{})
	var m M
	var failed error
	go func() { // ends when the call does: nothing else ends gRPC's waiting for a message
		defer close(came)
		defer receivingPanicked(&failed)
		if m, failed = receive(); failed != nil && !errors.Is(failed, io.EOF) {
			failed = &brokenStream{failed}
		}
	}()
	select {
	case <-came:
		return m, failed
	case <-s.draining:
		return first, errStreamDraining
	}
}

// receivingPanicked, deferred, makes an error of a panic in a goroutine that receives: no interceptor is behind that.
func receivingPanicked(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("receiving from a stream: %w", &panicked{value: p, stack: debug.Stack()})
	}
}

// brokenStream is the error of a stream on which nothing comes or goes any more, with the status that gRPC gives.
type brokenStream struct{ status error }

// Error is gRPC's text.
func (e *brokenStream) Error() string { return e.status.Error() }
