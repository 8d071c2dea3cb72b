package transport

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
)

// probeTimeout is the time limit for receiving the message of a probe.
const probeTimeout = 5 * time.Second

// incomingInterval is how often the limits of an incomplete message are checked.
const incomingInterval = 100 * time.Millisecond

// slowMessage is the age from which an incomplete call no longer counts as active: it waits for its client, not for
// CPU.
const slowMessage = incomingInterval

// maxIncomingProbes limits the probes with incomplete messages. Probes need no token.
const maxIncomingProbes = 32

// incoming limits the calls with incomplete messages. gRPC calls interceptors after it has received the message, but it
// uses memory for the message before.
type incoming struct {
	probes        chan struct{}
	timeout       time.Duration // of all calls but probes
	underPressure func() bool   // nil: never
	rejected      func(reason string)
	draining      atomic.Pointer[time.Time] // begin of draining; nil: not draining
}

func newIncoming(underPressure func() bool, rejected func(reason string)) *incoming {
	return &incoming{
		probes: make(chan struct{}, maxIncomingProbes), timeout: MessageTimeout, underPressure: underPressure, rejected: rejected,
	}
}

// errTooManyProbes rejects a probe.
var errTooManyProbes = overloadedLater(
	fmt.Sprintf("the limit of %d health probes with incomplete messages is reached: retry later", maxIncomingProbes))

// begin starts the time limits of a call whose headers were received. The returned context is that of the call, and
// ends if the message exceeds a limit.
func (in *incoming) begin(ctx context.Context, log accessLog) (context.Context, error) {
	of := call.Of(ctx)
	c := &incomingCall{in: in, of: of, start: time.Now(), timeout: in.timeout, log: log}
	if isProbe(of.Method) {
		select {
		case in.probes <- struct{}{}:
			c.probe, c.timeout = true, probeTimeout
		default:
			in.rejected(RejectedIncomplete)
			return nil, errTooManyProbes()
		}
	}
	of.Transport = c
	c.Context, c.cancel = context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(incomingInterval, c.check)
	c.stopWatching = context.AfterFunc(ctx, func() {
		c.end()
		of.Slot.Release()
	})
	return c, nil
}

func (in *incoming) drain() {
	now := time.Now()
	in.draining.CompareAndSwap(nil, &now)
}

// incomingCall is the context of a call over a network.
type incomingCall struct {
	context.Context //nolint:containedctx // it is a context
	cancel          context.CancelFunc
	in              *incoming
	of              *call.Call
	probe           bool
	start           time.Time
	timeout         time.Duration
	log             accessLog
	late            atomic.Bool

	receiving, stream atomic.Bool  // as connStats has seen
	size              atomic.Int64 // of the last message, if it came over a conn; else 0

	mu           sync.Mutex
	resume       func() // after the message; nil: the call is not paused
	timer        *time.Timer
	stopWatching func() bool
	ended        bool
}

// incomingOf returns the state of a call over a network, nil for another call.
func incomingOf(ctx context.Context) *incomingCall {
	c, _ := call.Of(ctx).Transport.(*incomingCall)
	return c
}

// Err implements context.Context. gRPC derives the status of the call from it.
func (c *incomingCall) Err() error {
	err := c.Context.Err()
	if err != nil && c.late.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// check ends the call if memory is short or the time is over.
func (c *incomingCall) check() {
	timeout, start := c.timeout, c.start
	if draining := c.in.draining.Load(); draining != nil && timeout > DrainTimeout {
		timeout, start = DrainTimeout, *draining
	}
	switch {
	case c.in.underPressure != nil && c.in.underPressure():
		c.abort(false, "the server is short of memory, and the message is incomplete")
	case time.Since(start) > timeout:
		c.abort(true, "the message was not received in time")
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ended {
			return
		}
		if c.resume == nil && time.Since(c.start) > slowMessage {
			c.resume = c.of.Slot.Pause()
		}
		c.timer.Reset(incomingInterval)
	}
}

func (c *incomingCall) abort(late bool, message string) {
	if !c.end() {
		return // the message has just been received
	}
	c.in.rejected(RejectedIncomplete)
	c.log.record(c, c.of.Method, c.start, statusError(crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED, message, nil))
	c.late.Store(late)
	c.cancel()
}

// end stops the time limits when the message is complete or the call has ended. It returns true only the first time.
func (c *incomingCall) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.ended = true
	c.timer.Stop()
	if c.resume != nil {
		c.resume()
	}
	if c.probe {
		<-c.in.probes
	}
	return true
}

// received ends the time limits of a call whose message is complete. It returns the slot, which the interceptor releases at
// the end of the call.
func received(ctx context.Context) *call.Slot {
	c := incomingOf(ctx)
	if c == nil {
		return nil
	}
	if c.end() {
		c.stopWatching()
	}
	return c.of.Slot
}

func receivedUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	slot := received(ctx)
	defer slot.Release()
	return handler(ctx, req)
}

// receivedStream ends the time limits of a stream. A stream with a single request has received it after RecvMsg. The API
// limits the messages of other streams.
func receivedStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if info.IsClientStream {
		defer received(ss.Context()).Release()
	} else {
		ss = &singleRequestStream{ss}
	}
	return handler(srv, ss)
}

type singleRequestStream struct{ grpc.ServerStream }

// RecvMsg implements grpc.ServerStream.
func (s *singleRequestStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	received(s.Context())
	return err
}
