package telemetry

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/crdeval/crdeval/server/conversion"
)

// Calls of webhooks take milliseconds to --conversion-timeout.
var conversionBuckets = []float64{1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// maxHosts bounds the values of the attribute host. An operator can allow networks, and the services of a cluster.
const (
	maxHosts   = 100
	otherHosts = "other"
)

// ObserveConversions traces and measures the calls of conversion webhooks. The returned function is a
// conversion.Options.Observe.
func (t *Telemetry) ObserveConversions() func(context.Context, conversion.Call) (context.Context, func(conversion.Outcome, error)) {
	calls := checked(t.meter().Int64Counter("crdeval.conversion.calls", metric.WithUnit("{call}"),
		metric.WithDescription("Calls of conversion webhooks, by host and outcome.")))
	durations := checked(t.meter().Float64Histogram("crdeval.conversion.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of the calls of conversion webhooks that were sent, by host."),
		metric.WithExplicitBucketBoundaries(conversionBuckets...)))
	tracer := t.Tracer.Tracer(scope)
	var known hosts
	return func(ctx context.Context, call conversion.Call) (context.Context, func(conversion.Outcome, error)) {
		start := time.Now()
		ctx, span := tracer.Start(ctx, "convert by webhook", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("crdeval.crd", call.CRD), attribute.String("server.address", call.Host),
			attribute.String("crdeval.target_version", call.APIVersion), attribute.Int("crdeval.objects", call.Objects),
		))
		return ctx, func(outcome conversion.Outcome, err error) {
			span.SetAttributes(attribute.String("crdeval.outcome", string(outcome)))
			if err != nil {
				span.SetStatus(codes.Error, err.Error())
			}
			span.End()
			host := attribute.String("host", known.label(call.Host))
			calls.Add(ctx, 1, metric.WithAttributes(host, attribute.String("outcome", string(outcome))))
			if outcome.Sent() {
				durations.Record(ctx, time.Since(start).Seconds(), metric.WithAttributes(host))
			}
		}
	}
}

// hosts are the hosts that have a label.
type hosts struct {
	mu    sync.Mutex
	known map[string]bool
}

// label returns the label of a host.
func (h *hosts) label(host string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case host == "" || !h.known[host] && len(h.known) == maxHosts:
		return otherHosts
	case h.known == nil:
		h.known = map[string]bool{}
	}
	h.known[host] = true
	return host
}

// Propagate adds the trace of a call to its requests. Unlike Propagator, it does not send the baggage of callers to
// webhooks.
func (t *Telemetry) Propagate(next http.RoundTripper) http.RoundTripper { return propagate{next} }

type propagate struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p propagate) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	propagation.TraceContext{}.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	return p.RoundTripper.RoundTrip(r)
}
