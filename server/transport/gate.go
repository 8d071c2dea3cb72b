package transport

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// Gate accepts or rejects calls: by the number of calls in flight, and by memory. It rejects a call at
// once instead of queueing it: clients retry. Health probes pass without any of these checks. A server checks every
// call. The REST gateway calls Check before it reads a body.
type Gate struct {
	GateOptions
	slots    chan struct{} // of calls in flight; nil: unlimited
	incoming *incoming
}

// GateOptions configure NewGate. The zero value accepts every call.
type GateOptions struct {
	MaxInFlight   int         // calls in flight, including streams; 0: unlimited
	UnderPressure func() bool // reports whether memory is short; nil: never
	Rejected      func()      // called for each call rejected with OVERLOADED; may be nil
}

// NewGate returns a gate without calls in flight.
func NewGate(o GateOptions) *Gate {
	if o.Rejected == nil {
		o.Rejected = func() {}
	}
	return &Gate{
		GateOptions: o, slots: newSlots(o.MaxInFlight),
		incoming: newIncoming(newSlots(o.MaxInFlight), o.UnderPressure, o.Rejected),
	}
}

// newSlots returns nil for an unlimited number.
func newSlots(n int) chan struct{} {
	if n <= 0 {
		return nil
	}
	return make(chan struct{}, n)
}

// Check returns the error with which a call is rejected at this moment. It does not reserve a slot: the server checks
// the call again.
func (g *Gate) Check() error {
	if g.UnderPressure != nil && g.UnderPressure() {
		g.Rejected()
		return statusError(crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
			"the server is short of memory: retry later with smaller batches, or give it more memory", nil)
	}
	if g.slots != nil && len(g.slots) == cap(g.slots) {
		return g.full()
	}
	return nil
}

func (g *Gate) full() error {
	g.Rejected()
	return tooMany("calls in flight", cap(g.slots))
}

// Drain limits the time for incomplete messages to drainTimeout.
func (g *Gate) Drain() { g.incoming.drain() }

// tap checks a call of a gRPC server by its headers, before gRPC reads the message into memory. It reserves a slot for
// the incomplete message. The interceptors reserve a slot for the call.
func (g *Gate) tap(log accessLog) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if !isProbe(info.FullMethodName) {
			if err := g.Check(); err != nil {
				log.record(ctx, info.FullMethodName, time.Now(), err)
				return nil, err
			}
		}
		return g.incoming.begin(ctx, info.FullMethodName, log)
	}
}

// InFlight returns the number of calls in flight, including those with incomplete messages, excluding probes. It is 0
// if MaxInFlight is unlimited.
func (g *Gate) InFlight() int { return len(g.slots) + len(g.incoming.slots) }

// enter checks a call and reserves a slot for it. The caller calls leave at the end of the call.
func (g *Gate) enter(ctx context.Context, method string) (leave func(), err error) {
	if isProbe(method) {
		return func() {}, nil
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	if g.slots == nil {
		return func() {}, nil
	}
	select {
	case g.slots <- struct{}{}:
		return func() { <-g.slots }, nil
	default:
		return nil, g.full()
	}
}

// tooMany returns the error for a call beyond --max-in-flight.
func tooMany(what string, limit int) error {
	return statusError(crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
		fmt.Sprintf("the limit of %d %s is reached: retry later, or raise --max-in-flight", limit, what),
		map[string]string{"limit": "max_in_flight", "maximum": fmt.Sprint(limit)})
}

func (g *Gate) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	leave, err := g.enter(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	defer leave()
	return handler(ctx, req)
}

// stream checks a stream. A watch needs a free slot to begin and does not keep it: watches are long and cheap, and the
// API has its own limit for them.
func (g *Gate) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	leave, err := g.enter(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	if info.IsClientStream {
		defer leave()
	} else {
		leave()
	}
	return handler(srv, ss)
}

// statusError returns the status of an error. It is the error of a call.
func statusError(reason crdevalv1.ErrorReason, message string, metadata map[string]string) error {
	return (&api.Error{Reason: reason, Message: message, Metadata: metadata}).GRPCStatus().Err()
}

// onPanic turns a panic of a handler into an error of the call. Only the log has the stack.
func onPanic(log *slog.Logger) recovery.Option {
	return recovery.WithRecoveryHandlerContext(func(ctx context.Context, p any) error {
		log.ErrorContext(ctx, "a call panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		return statusError(crdevalv1.ErrorReason_ERROR_REASON_INTERNAL,
			"internal error: the log of the server has the details; please report it", nil)
	})
}
