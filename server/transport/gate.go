package transport

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"

	"github.com/crdeval/crdeval/engine/host"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
)

// Gate admits calls by the number of calls in flight and by memory. It rejects other calls at once instead of queueing
// them, so that clients retry. Health probes are always admitted. A gRPC call is admitted when its headers arrive, and
// a REST call before its body is read.
type Gate struct {
	GateOptions
	incoming *incoming
	overload overloadLog
}

// GateOptions configure NewGate. The zero value accepts every call.
type GateOptions struct {
	Limiter       *call.Limiter       // of calls in flight; nil: unlimited
	UnderPressure func() bool         // reports whether memory is short; nil: never
	Rejected      func(reason string) // called for each call rejected with OVERLOADED; may be nil
	Log           *slog.Logger        // nil: slog.Default()
	// Authenticated says that the server authenticates callers. Callers without credentials then count as one caller:
	// each of them can open many connections.
	Authenticated bool
}

// Reasons of rejections, in addition to call.Reason, for metrics.
const (
	RejectedMemory     = "memory"
	RejectedIncomplete = "incomplete" // the message was not received in time
	RejectedAuxiliary  = "auxiliary"  // too many health watches and reflection streams
)

// NewGate returns a gate without calls in flight.
func NewGate(o GateOptions) *Gate {
	if o.Rejected == nil {
		o.Rejected = func(string) {}
	}
	g := &Gate{GateOptions: o, overload: overloadLog{log: cmp.Or(o.Log, slog.Default())}}
	g.incoming = newIncoming(o.UnderPressure, o.Rejected)
	return g
}

// admit names the caller of a call and reserves its slot, which stays nil if calls are unlimited. Or it returns the error
// with which the call is rejected. waited is how long the call has waited in its connection.
func (g *Gate) admit(ctx context.Context, waited time.Duration) error {
	if g.UnderPressure != nil && g.UnderPressure() {
		g.Rejected(RejectedMemory)
		return errMemoryShort()
	}
	c := call.Of(ctx)
	c.Caller = g.caller(ctx)
	if g.Limiter == nil {
		return nil
	}
	slot, rejection := g.Limiter.Admit(c.Caller, waited)
	if rejection != nil {
		g.Rejected(string(rejection.Reason))
		return rejection.Error(limitError)
	}
	c.Slot = slot
	return nil
}

// Drain limits the time for incomplete messages to DrainTimeout.
func (g *Gate) Drain() { g.incoming.drain() }

// tap admits a call of a gRPC server by its headers, before gRPC reads the message into memory.
func (g *Gate) tap(log accessLog) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if !isProbe(info.FullMethodName) {
			if err := g.admit(ctx, connOf(ctx).waited()); err != nil {
				log.record(ctx, info.FullMethodName, time.Now(), err)
				if c := connOf(ctx); c != nil {
					c.rejected.Store(true)
				}
				return nil, err
			}
		}
		return g.incoming.begin(ctx, log)
	}
}

// releaseSlot is an interceptor that releases the slots of streams. A stream does not count against the adaptive limit,
// because it mostly waits for its client. The API limits the number of streams. A watch needs a slot only to begin,
// because watches are long and cheap.
func releaseSlot(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	slot := call.Of(ss.Context()).Slot
	if info.IsClientStream && !isReflection(info.FullMethod) {
		slot.Pause()
	} else {
		slot.Release()
	}
	return handler(srv, ss)
}

// errMemoryShort rejects calls while memory is short.
var errMemoryShort = overloadedLater("the server is short of memory: retry later with smaller batches, or raise --memory")

// statusError returns the status of an error. It is the error of a call.
func statusError(reason crdevalv1.ErrorReason, message string, metadata map[string]string) error {
	return (&api.Error{Reason: reason, Message: message, Metadata: metadata}).GRPCStatus().Err()
}

// stackOf returns the stack of a panic that was recovered just now.
func stackOf(p any) string {
	if other, ok := p.(*host.PanicError); ok { // of another goroutine
		return string(other.Stack)
	}
	return string(debug.Stack())
}

// onPanic turns a panic of a handler into an error of the call.
func onPanic(log *slog.Logger) recovery.Option {
	return recovery.WithRecoveryHandlerContext(func(ctx context.Context, p any) error { return panicError(ctx, log, p) })
}

// panicError logs a panic that was recovered just now, and returns the error of its call. Only the log has the stack.
func panicError(ctx context.Context, log *slog.Logger, p any) error {
	log.ErrorContext(ctx, "a call panicked", "panic", fmt.Sprint(p), "stack", stackOf(p))
	return statusError(crdevalv1.ErrorReason_ERROR_REASON_INTERNAL,
		"internal error: the log of the server has the details; please report it", nil)
}
