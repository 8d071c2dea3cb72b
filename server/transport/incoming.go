package transport

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Time limits for receiving a message: baseTimeout and a second for every bytesPerSecond of the largest message. A
// REST body has the same limit for its own size.
const (
	baseTimeout    = 30 * time.Second
	bytesPerSecond = 512 << 10
	probeTimeout   = 5 * time.Second
	drainTimeout   = 2 * time.Second // from the begin of draining
)

// incomingInterval is how often the limits of an incomplete message are checked.
const incomingInterval = 100 * time.Millisecond

// maxIncomingProbes limits the probes with incomplete messages. Probes need no token.
const maxIncomingProbes = 32

// incoming limits the calls with incomplete messages. gRPC calls interceptors after it has received the message, but it
// uses memory for the message before.
type incoming struct {
	slots         chan struct{} // of all calls but probes; nil: unlimited
	probes        chan struct{}
	timeout       time.Duration // of all calls but probes
	underPressure func() bool   // nil: never
	rejected      func()
	draining      atomic.Pointer[time.Time] // begin of draining; nil: not draining
}

func newIncoming(slots chan struct{}, underPressure func() bool, rejected func()) *incoming {
	return &incoming{
		slots: slots, probes: make(chan struct{},
			maxIncomingProbes), timeout: baseTimeout, underPressure: underPressure, rejected: rejected,
	}
}

// begin reserves a slot for a call whose headers were received. The returned context belongs to the call. It ends if
// the message exceeds a limit.
func (in *incoming) begin(ctx context.Context, method string, log accessLog) (context.Context, error) {
	slots, timeout := in.slots, in.timeout
	if isProbe(method) {
		slots, timeout = in.probes, probeTimeout
	}
	if slots != nil {
		select {
		case slots <- struct{}{}:
		default:
			in.rejected()
			return nil, tooMany("calls with incomplete messages", cap(slots))
		}
	}
	c := &incomingCall{in: in, slots: slots, start: time.Now(), timeout: timeout, method: method, log: log}
	c.Context, c.cancel = context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(incomingInterval, c.check)
	c.stopWatching = context.AfterFunc(ctx, func() { c.end() })
	return c, nil
}

func (in *incoming) drain() {
	now := time.Now()
	in.draining.CompareAndSwap(nil, &now)
}

// incomingCall is the context of a call. It holds the slot of the incomplete message.
type incomingCall struct {
	context.Context //nolint:containedctx // it is a context
	cancel          context.CancelFunc
	in              *incoming
	slots           chan struct{}
	start           time.Time
	timeout         time.Duration
	method          string
	log             accessLog
	late            atomic.Bool

	mu           sync.Mutex
	timer        *time.Timer
	stopWatching func() bool
	ended        bool
}

type incomingKey struct{}

// Value implements context.Context.
func (c *incomingCall) Value(key any) any {
	if _, is := key.(incomingKey); is {
		return c
	}
	return c.Context.Value(key)
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
	if draining := c.in.draining.Load(); draining != nil && timeout > drainTimeout {
		timeout, start = drainTimeout, *draining
	}
	switch {
	case c.in.underPressure != nil && c.in.underPressure():
		c.abort(false, "the server is short of memory, and the message is incomplete")
	case time.Since(start) > timeout:
		c.abort(true, "the message was not received in time")
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.ended {
			c.timer.Reset(incomingInterval)
		}
	}
}

func (c *incomingCall) abort(late bool, message string) {
	if !c.end() {
		return // the message has just been received
	}
	c.in.rejected()
	c.log.record(c, c.method, c.start, statusError(crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED, message, nil))
	c.late.Store(late)
	c.cancel()
}

// end releases the slot when the message is received or the call is over. It returns false after the first time.
func (c *incomingCall) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.ended = true
	c.timer.Stop()
	c.stopWatching()
	if c.slots != nil {
		<-c.slots
	}
	return true
}

// received releases the slot of a call whose message was received.
func received(ctx context.Context) {
	if c, is := ctx.Value(incomingKey{}).(*incomingCall); is {
		c.end()
	}
}

func receivedUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	received(ctx)
	return handler(ctx, req)
}

// receivedStream releases the slot of a stream. A stream with a single request has received it after RecvMsg. The API
// limits the messages of other streams.
func receivedStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if info.IsClientStream {
		received(ss.Context())
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
