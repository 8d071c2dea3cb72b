package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/rpcconv"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/server/call"
)

// callHandler measures calls as otelgrpc does, but creates no spans. The attributes of a method are built once:
// otelgrpc takes as long for a call as the evaluation of a small object.
type callHandler struct {
	measured   func(method string) bool
	duration   metric.Float64Histogram
	propagator propagation.TextMapPropagator
	methods    sync.Map // of *callOptions by method
}

// callOptions are the options with which the calls of a method are recorded, by code.
type callOptions [codes.Unauthenticated + 1][]metric.RecordOption

func (t *Telemetry) newCallHandler(measured func(method string) bool) *callHandler {
	meter := t.Meter.Meter(otelgrpc.ScopeName, metric.WithInstrumentationVersion(otelgrpc.Version),
		metric.WithSchemaURL(semconv.SchemaURL))
	return &callHandler{
		measured: measured, duration: checked(rpcconv.NewServerCallDuration(meter)).Inst(), propagator: t.Propagator,
	}
}

// TagConn implements stats.Handler.
func (*callHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (*callHandler) HandleConn(context.Context, stats.ConnStats) {}

// TagRPC implements stats.Handler.
func (h *callHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return h.propagator.Extract(ctx, incomingHeaders{ctx})
}

// options returns the options of a method; nil if it is not measured.
func (h *callHandler) options(method string) *callOptions {
	if known, ok := h.methods.Load(method); ok {
		return known.(*callOptions) //nolint:forcetypeassert // nothing else is stored
	}
	if !h.measured(method) {
		return nil
	}
	var options callOptions
	for c := range options {
		options[c] = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(semconv.RPCSystemNameGRPC,
			semconv.RPCMethod(method[1:]), semconv.RPCResponseStatusCode(code.Code(c).String())))} //nolint:gosec // small
	}
	h.methods.Store(method, &options)
	return &options
}

// HandleRPC implements stats.Handler.
func (h *callHandler) HandleRPC(ctx context.Context, s stats.RPCStats) {
	end, is := s.(*stats.End)
	if !is {
		return
	}
	if options := h.options(call.Of(ctx).Method); options != nil {
		c := status.Code(end.Error)
		if int(c) >= len(options) {
			c = codes.Unknown
		}
		h.duration.Record(ctx, end.EndTime.Sub(end.BeginTime).Seconds(), options[c]...)
	}
}

// incomingHeaders are the headers of a call. Nothing is copied, unlike by metadata.FromIncomingContext.
type incomingHeaders struct{ ctx context.Context } //nolint:containedctx // the carrier of a propagator

// Get implements propagation.TextMapCarrier.
func (h incomingHeaders) Get(key string) string {
	if values := h.Values(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Values implements propagation.ValuesGetter.
func (h incomingHeaders) Values(key string) []string {
	return metadata.ValueFromIncomingContext(h.ctx, key)
}

// Set implements propagation.TextMapCarrier.
func (incomingHeaders) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (incomingHeaders) Keys() []string { return nil }
