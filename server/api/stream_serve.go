package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/crdeval/crdeval/engine"
)

// stream is a call under way. Goroutines of several kinds share it: one receives messages and cuts them into spans (stream_receive.go), some evaluate
// these (stream_evaluate.go), and one sends what is ready, in order (stream_answer.go). The handler's own waits for what ends the stream.
type stream[M streamed, S any] struct {
	streaming[M, S]
	service *evaluationService
	place   *streamPlace
	catalog string
	overlay []engine.Document
	batch   *batch // of what is evaluated in parallel; its budget has room for the results that wait
	alone   *batch // of what is evaluated again
	window  *window
	work    chan span[S]
	ready   chan *chunk[S] // in the order of the items; closed behind the last
	next    int64          // index of the next item
	closing atomic.Bool    // what is received from now on is not taken
	ended   error          // why receiving ended, nil at the end of the stream; to be read when ready is closed
}

// brokenStream is the error of a stream on which nothing comes or goes any more, with the status that gRPC gives.
type brokenStream struct{ status error }

// Error is gRPC's text.
func (e *brokenStream) Error() string { return e.status.Error() }

// serveStream answers a stream from its first message to its end.
func serveStream[M streamed, S any, Req, Res any](s *evaluationService, g grpc.BidiStreamingServer[Req, Res], kind streaming[M, S]) error {
	ctx := g.Context()
	place, err := s.streams.enter()
	if err != nil {
		return s.faults.call(ctx, err)
	}
	defer place.leave()
	first, err := firstOf(place, kind.receive)
	var broken *brokenStream
	switch {
	case errors.Is(err, io.EOF):
		return s.faults.call(ctx, invalid("catalog", "the stream ended before its first message: send one with the catalog"))
	case errors.As(err, &broken):
		return broken.status // the caller is gone, or gRPC itself refuses the message
	case err != nil:
		return s.faults.call(ctx, err)
	}
	call := &stream[M, S]{
		streaming: kind, service: s, place: place, window: newWindow(&s.streams.memory),
		work: make(chan span[S], streamWindow), ready: make(chan *chunk[S], streamWindow),
	}
	if err := call.open(ctx, first); err != nil {
		return s.faults.call(ctx, err)
	}
	// From here on the caller knows that its first message was accepted.
	if err := g.SendHeader(nil); err != nil {
		return err
	}
	err = call.run(ctx, first)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &broken):
		return broken.status
	}
	return s.faults.call(ctx, err)
}

// open checks the first message.
func (t *stream[M, S]) open(ctx context.Context, first M) (err error) {
	if len(first.GetItems()) > maxStreamItems {
		return tooMany("items in a message", "max_stream_items", maxStreamItems)
	}
	if t.batch, err = t.service.open(ctx, first); err != nil {
		return err
	}
	if err := t.begin(t.batch, first); err != nil {
		return err
	}
	if t.overlay, err = overlay(first.GetCrds()); err != nil {
		return err
	}
	t.catalog = t.batch.catalog
	t.batch.budget.resetTo(min(streamAnswers, t.service.limits.MaxMessageBytes/2), 0)
	t.alone = &batch{catalog: t.catalog, options: t.batch.options, timeout: t.batch.timeout, limits: t.batch.limits, faults: t.batch.faults}
	return nil
}

// run receives, evaluates and sends until one of them ends, or the place is lost.
func (t *stream[M, S]) run(ctx context.Context, first M) error {
	running, stop := context.WithCancelCause(ctx)
	var workers, others sync.WaitGroup
	defer func() {
		stop(nil)
		workers.Wait()
		go func() { // what receives and what sends may end only when the call has: nothing else ends gRPC's waiting for a message, or for its caller to read
			others.Wait()
			t.window.close()
		}()
	}()
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { t.evaluateSpans(running) })
	}
	others.Go(func() { t.receiveAll(running, first) })
	answered := make(chan error, 1)
	others.Go(func() { answered <- t.answerAll(running) })
	select {
	case err := <-answered:
		return err
	case <-t.place.lost:
		return t.place.errLost()
	}
}

// recovered, deferred, makes an error of a panic in a goroutine that serves a stream: no interceptor is behind that.
func recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s a stream: %w", what, &panicked{value: p, stack: debug.Stack()})
	}
}
