package telemetry

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"google.golang.org/grpc/stats"
)

// ServerHandler traces and measures the calls of a gRPC server. It ignores health probes, reflection, and methods for
// which known returns false: callers can invent names of methods.
func (t *Telemetry) ServerHandler(known func(method string) bool) stats.Handler {
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.Tracer), otelgrpc.WithMeterProvider(t.Meter), otelgrpc.WithPropagators(t.Propagator),
		otelgrpc.WithFilter(func(info *stats.RPCTagInfo) bool {
			return !strings.HasPrefix(info.FullMethodName, "/grpc.") && known(info.FullMethodName)
		}),
	)
}

// HTTPHandler traces and measures the requests to h, except for health and metrics.
func (t *Telemetry) HTTPHandler(h http.Handler) http.Handler {
	return otelhttp.NewHandler(h, "http",
		otelhttp.WithTracerProvider(t.Tracer), otelhttp.WithMeterProvider(t.Meter), otelhttp.WithPropagators(t.Propagator),
		otelhttp.WithFilter(func(r *http.Request) bool {
			return strings.HasPrefix(r.URL.Path, "/v1/") || strings.HasPrefix(r.URL.Path, "/webhooks/")
		}),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return "HTTP " + r.Method }),
	)
}
