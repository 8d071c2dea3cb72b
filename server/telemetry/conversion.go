package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/crdeval/crdeval/server/conversion"
	"github.com/crdeval/crdeval/server/webhook"
)

// Calls of webhooks take milliseconds to --conversion-timeout.
var conversionBuckets = []float64{1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// maxValues bounds the values of the attributes host and crd. An operator can allow networks, and the services of a
// cluster. Tenants can register any number of CRDs.
const (
	maxValues   = 100
	otherValues = "other"
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
	var known values
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

// warningInterval is the minimum time between two warnings about a CRD.
const warningInterval = time.Minute

// ObserveReviewedObjects counts the objects of ConversionReviews, and warns of CRDs with objects that cannot be converted.
// The warnings do not contain values of objects. The returned function is a webhook.Converter.Observe.
func (t *Telemetry) ObserveReviewedObjects() func(context.Context, webhook.Observation) {
	objects := checked(t.meter().Int64Counter("crdeval.webhook.objects", metric.WithUnit("{object}"),
		metric.WithDescription("Objects in ConversionReviews, by CRD and outcome.")))
	var known values
	var mu sync.Mutex
	warned := map[string]time.Time{} // by value of the attribute crd
	isDue := func(crd string) bool {
		mu.Lock()
		defer mu.Unlock()
		last, found := warned[crd]
		due := !found || time.Since(last) >= warningInterval
		if due {
			warned[crd] = time.Now()
		}
		return due
	}
	return func(ctx context.Context, o webhook.Observation) {
		crd := known.label(o.CRD)
		count := func(outcome string, n int) {
			if n > 0 {
				objects.Add(ctx, int64(n), metric.WithAttributes(attribute.String("crd", crd), attribute.String("outcome", outcome)))
			}
		}
		count("converted", o.Objects-o.Failed)
		count("failed", o.Failed)
		if o.Failed == 0 || !isDue(crd) {
			return
		}
		about := []any{
			slog.String("catalog", o.Catalog), slog.String("crd", o.CRD), slog.Int("objects", o.Objects), slog.Int("failed", o.Failed),
			slog.String("reason", string(o.Reason)),
		}
		if c := o.Conversion; c != nil {
			about = append(about, slog.String("from", c.From), slog.String("to", c.To), slog.String("rule", c.Rule), slog.String("path", c.Path))
		}
		t.log.WarnContext(ctx, "objects of a ConversionReview cannot be converted", about...)
	}
}

// values are the values of an attribute.
type values struct {
	mu    sync.Mutex
	known map[string]bool
}

// label returns the value for a name: the name, or otherValues.
func (v *values) label(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case name == "" || !v.known[name] && len(v.known) == maxValues:
		return otherValues
	case v.known == nil:
		v.known = map[string]bool{}
	}
	v.known[name] = true
	return name
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
