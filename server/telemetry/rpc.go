package telemetry

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// ServerHandler traces and measures the calls of a gRPC server. known says whether it has a method, by its full name: others are neither
// traced nor measured, since their names are the caller's to invent. Probes and reflection are left out too.
func (t *Telemetry) ServerHandler(known func(method string) bool) stats.Handler {
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.Tracer), otelgrpc.WithMeterProvider(t.Meter), otelgrpc.WithPropagators(t.Propagator),
		otelgrpc.WithFilter(func(info *stats.RPCTagInfo) bool {
			return !strings.HasPrefix(info.FullMethodName, "/grpc.") && known(info.FullMethodName)
		}),
	)
}

// PassOn makes the spans of the gRPC calls that the REST gateway makes children of the requests' spans. There is no client's span between:
// client and server are one process.
func (t *Telemetry) PassOn(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if trace.SpanContextFromContext(ctx).IsValid() {
		md, _ := metadata.FromOutgoingContext(ctx)
		md = md.Copy()
		t.Propagator.Inject(ctx, carrier(md))
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	return invoke(ctx, method, req, reply, conn, opts...)
}

// carrier is a propagation.TextMapCarrier over metadata.
type carrier metadata.MD

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(key string) string {
	if values := metadata.MD(c).Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string { return slices.Collect(maps.Keys(c)) }

// HTTPHandler traces and measures the requests to h. operational requests (health, metrics) pass by.
func (t *Telemetry) HTTPHandler(h http.Handler) http.Handler {
	return otelhttp.NewHandler(h, "http",
		otelhttp.WithTracerProvider(t.Tracer), otelhttp.WithMeterProvider(t.Meter), otelhttp.WithPropagators(t.Propagator),
		otelhttp.WithFilter(func(r *http.Request) bool {
			return strings.HasPrefix(r.URL.Path, "/v1/") || strings.HasPrefix(r.URL.Path, "/webhooks/")
		}),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return "HTTP " + r.Method }),
	)
}
