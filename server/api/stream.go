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
	"google.golang.org/protobuf/proto"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// AdmitStream returns the verdict on each write of a stream.
func (s *evaluationService) AdmitStream(g grpc.BidiStreamingServer[crdevalv1.AdmitStreamRequest, crdevalv1.AdmitStreamResponse]) error {
	return serveStream(s, g, streamKind[*crdevalv1.AdmitStreamRequest, admitSlot]{
		receive: g.Recv,
		setOptions: func(b *batch, first *crdevalv1.AdmitStreamRequest) error {
			return b.setAdmission(first.GetStage(), first.GetInclude())
		},
		hasOptions: func(m *crdevalv1.AdmitStreamRequest) bool { return m.GetStage() != 0 || m.GetInclude() != nil },
		evaluate:   (*batch).admit,
		fail:       func(slot *admitSlot, st *statusv1.Status) { slot.fail(st) },
		result:     func(slot *admitSlot) proto.Message { return &slot.result },
		send: func(first int64, slots []admitSlot) error {
			return g.Send(&crdevalv1.AdmitStreamResponse{FirstIndex: first, Results: admitResults(slots)})
		},
	})
}

// ReadStream returns each object of a stream as an API server reads it from its storage.
func (s *evaluationService) ReadStream(g grpc.BidiStreamingServer[crdevalv1.ReadStreamRequest, crdevalv1.ReadStreamResponse]) error {
	return serveStream(s, g, streamKind[*crdevalv1.ReadStreamRequest, transformSlot]{
		receive: g.Recv,
		setOptions: func(b *batch, first *crdevalv1.ReadStreamRequest) error {
			b.options.TargetVersion = first.GetTargetVersion()
			return b.setInclude(first.GetInclude())
		},
		hasOptions: func(m *crdevalv1.ReadStreamRequest) bool { return m.GetTargetVersion() != "" || m.GetInclude() != nil },
		evaluate: func(b *batch, ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, slot *transformSlot) error {
			return b.transform(ctx, r, m, (*engine.Definition).Read, slot)
		},
		fail:   func(slot *transformSlot, st *statusv1.Status) { slot.fail(st) },
		result: func(slot *transformSlot) proto.Message { return &slot.result },
		send: func(first int64, slots []transformSlot) error {
			return g.Send(&crdevalv1.ReadStreamResponse{FirstIndex: first, Results: transformResults(slots)})
		},
	})
}

// A streamKind has what differs between AdmitStream and ReadStream. M is the message of a request, S the slot of a result.
type streamKind[M streamRequest, S any] struct {
	receive    func() (M, error)
	setOptions func(b *batch, first M) error // sets the options that only this kind has
	hasOptions func(M) bool                  // reports whether a message has some of them
	evaluate   func(b *batch, ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, slot *S) error
	fail       func(slot *S, st *statusv1.Status)
	result     func(slot *S) proto.Message
	send       func(first int64, slots []S) error
}

type streamRequest interface {
	evaluation
	proto.Message
}

// A stream is a call of AdmitStream or ReadStream. One goroutine receives messages and splits them into spans (stream_receive.go),
// several evaluate spans (stream_evaluate.go), and one sends the results in order (stream_send.go).
type stream[M streamRequest, S any] struct {
	streamKind[M, S]
	service  *evaluationService
	slot     *streamSlot
	parallel *batch // its budget bounds the results that wait
	retry    *batch // for results that did not fit among those that wait
	window   *window
	work     chan span[S]
	ready    chan *chunk[S] // in the order of the items; closed after the last
	next     int64          // the index of the next item
	closing  atomic.Bool    // rejects messages that are received from now on
	ended    error          // why receiving ended, nil at the end of the stream; valid when ready is closed
}

// serveStream serves a stream from its first message to its end.
func serveStream[M streamRequest, S any, Req, Res any](
	s *evaluationService, g grpc.BidiStreamingServer[Req, Res], kind streamKind[M, S],
) error {
	ctx := g.Context()
	slot, err := s.streams.take(ctx)
	if err != nil {
		return err
	}
	defer slot.release()
	first, err := receiveFirst(slot, kind.receive)
	if errors.Is(err, io.EOF) {
		return invalid("catalog", "the stream ended before its first message: send one with the catalog")
	}
	if err != nil {
		return err
	}
	t := &stream[M, S]{
		streamKind: kind, service: s, slot: slot, window: newWindow(&s.streams.memory),
		work: make(chan span[S], maxStreamWindow), ready: make(chan *chunk[S], maxStreamWindow),
	}
	if err := t.open(ctx, first); err != nil {
		return err
	}
	// The header tells the caller that the first message was accepted.
	if err := g.SendHeader(nil); err != nil {
		return &brokenStream{err}
	}
	err = t.run(ctx, first)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// open checks the first message.
func (t *stream[M, S]) open(ctx context.Context, first M) (err error) {
	if err := checkLength(first.GetItems(), "items in a message", "max_stream_items", maxStreamItems); err != nil {
		return err
	}
	if t.parallel, err = t.service.open(ctx, first); err != nil {
		return err
	}
	if err := t.setOptions(t.parallel, first); err != nil {
		return err
	}
	b := t.parallel
	b.budget.reset(min(maxStreamResultBytes, t.service.limits.MaxMessageBytes/2), 0)
	t.retry = &batch{catalog: b.catalog, options: b.options, timeout: b.timeout, limits: b.limits, faults: b.faults}
	return nil
}

// run receives, evaluates and sends until one of them ends or the slot is lost.
func (t *stream[M, S]) run(ctx context.Context, first M) error {
	running, stop := context.WithCancelCause(ctx)
	var workers, others sync.WaitGroup
	defer func() {
		stop(nil)
		workers.Wait()
		// Receiving and sending may end only after the call: nothing else unblocks them.
		go func() {
			others.Wait()
			t.window.close()
		}()
	}()
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { t.evaluateSpans(running) })
	}
	others.Go(func() { t.receiveAll(running, first) })
	sent := make(chan error, 1)
	others.Go(func() { sent <- t.sendAll(running) })
	select {
	case err := <-sent:
		return err
	case <-t.slot.lost:
		return t.slot.errLost()
	}
}

// recoverStream is deferred by goroutines of a stream. It returns a panic as an error.
func recoverStream(doing string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s a stream: %w", doing, &panicError{value: p, stack: debug.Stack()})
	}
}
