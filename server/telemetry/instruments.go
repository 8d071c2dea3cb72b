package telemetry

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
)

// Evaluations take microseconds to milliseconds, compilations milliseconds: OpenTelemetry's default buckets begin at 5 ms.
var (
	evaluationBuckets = []float64{1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 2.5e-2, 0.1, 1}
	compileBuckets    = []float64{1e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.5, 1, 5}
)

// Engine implements engine.Observer by instruments.
type Engine struct {
	evaluations, compiles metric.Float64Histogram
	attributes            map[outcome][]metric.RecordOption // made once, so that an evaluation allocates nothing for telemetry

	// Totals that are published when somebody looks: adding to an instrument costs as much as a small object's schema.
	bytes, explained, violations atomic.Uint64
}

var _ engine.Observer = (*Engine)(nil)

type outcome struct {
	call  engine.Call
	value string
}

// The values of the attribute outcome.
const (
	outcomeAllowed = "allowed" // a verdict that allows
	outcomeRefused = "refused" // a verdict that does not
	outcomeDone    = "done"    // an answer of another call
	outcomeError   = "error"   // could not be evaluated
)

// NewEngine makes the instruments.
func (t *Telemetry) NewEngine() (*Engine, error) {
	m := t.Meter.Meter(scope)
	e := &Engine{attributes: map[outcome][]metric.RecordOption{}}
	var evaluations, compiles error
	e.evaluations, evaluations = m.Float64Histogram("crdeval.evaluation.duration", metric.WithUnit("s"),
		metric.WithDescription("How long one item took in the engine."), metric.WithExplicitBucketBoundaries(evaluationBuckets...))
	e.compiles, compiles = m.Float64Histogram("crdeval.compile.duration", metric.WithUnit("s"),
		metric.WithDescription("How long it took to compile one version of a CRD."), metric.WithExplicitBucketBoundaries(compileBuckets...))
	for _, call := range []engine.Call{engine.CallValidate, engine.CallAdmit, engine.CallPrune, engine.CallDefault, engine.CallRead, engine.CallConvert} {
		for _, value := range []string{outcomeAllowed, outcomeRefused, outcomeDone, outcomeError} {
			set := attribute.NewSet(attribute.String("call", string(call)), attribute.String("outcome", value))
			e.attributes[outcome{call, value}] = []metric.RecordOption{metric.WithAttributeSet(set)}
		}
	}
	f := figures{meter: m}
	f.counter("crdeval.evaluation.bytes", "By", "Size of the objects evaluated, as they were given.", e.bytes.Load)
	f.counter("crdeval.evaluation.explained", "{item}", "Items that the fast walk did not settle, so that the slow one explained them.", e.explained.Load)
	f.counter("crdeval.evaluation.violations", "{violation}", "Violations found.", e.violations.Load)
	return e, errors.Join(evaluations, compiles, f.register(func() {}))
}

// Compiled implements engine.Observer.
func (e *Engine) Compiled(ctx context.Context, event engine.CompileEvent) {
	e.compiles.Record(ctx, event.Duration.Seconds())
}

// Evaluated implements engine.Observer.
func (e *Engine) Evaluated(ctx context.Context, event engine.EvaluationEvent) {
	value := outcomeDone
	switch {
	case event.Err != nil:
		value = outcomeError
	case event.Allowed:
		value = outcomeAllowed
	case event.Call == engine.CallValidate || event.Call == engine.CallAdmit:
		value = outcomeRefused
	}
	e.evaluations.Record(ctx, event.Duration.Seconds(), e.attributes[outcome{event.Call, value}]...)
	e.bytes.Add(uint64(event.Bytes))
	if event.Explained {
		e.explained.Add(1)
	}
	if event.Violations > 0 {
		e.violations.Add(uint64(event.Violations))
	}
}

// Cache implements cache.Observer by a span a build; the figures come from ObserveCache.
type Cache struct{ tracer trace.Tracer }

var _ cache.Observer = (*Cache)(nil)

// NewCache makes the observer of the cache of compiled programs.
func (t *Telemetry) NewCache() *Cache { return &Cache{t.Tracer.Tracer(scope)} }

// Hit implements cache.Observer; Stats counts it.
func (*Cache) Hit() {}

// Miss implements cache.Observer; Stats counts it.
func (*Cache) Miss() {}

// Evict implements cache.Observer; Stats counts it.
func (*Cache) Evict(int) {}

// Build implements cache.Observer.
func (c *Cache) Build(ctx context.Context) func(error) {
	_, span := c.tracer.Start(ctx, "build program")
	return func(err error) {
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
