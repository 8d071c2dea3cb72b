package telemetry

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"

	"github.com/crdeval/crdeval/engine"
)

// Evaluations take microseconds, compilations milliseconds. OpenTelemetry's default buckets start at 5 ms.
var (
	evaluationBuckets = []float64{1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 2.5e-2, 0.1, 1}
	compileBuckets    = []float64{1e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.5, 1, 5}
)

// Engine implements engine.Observer.
type Engine struct {
	evaluations, compiles metric.Float64Histogram
	attributes            map[outcome][]metric.RecordOption // built once: recording an evaluation does not allocate

	// Totals, published at collection: adding to an instrument takes as long as validating a small object.
	bytes, explained, violations atomic.Int64
}

var _ engine.Observer = (*Engine)(nil)

type outcome struct {
	call  engine.Call
	value string
}

// The values of the attribute outcome.
const (
	outcomeAllowed  = "allowed"
	outcomeRejected = "rejected"
	outcomeDone     = "done"  // of calls without a verdict
	outcomeError    = "error" // could not be evaluated
)

// NewEngine creates the instruments of the engine.
func (t *Telemetry) NewEngine() *Engine {
	e := &Engine{
		attributes: map[outcome][]metric.RecordOption{},
		evaluations: checked(t.meter().Float64Histogram("crdeval.evaluation.duration", metric.WithUnit("s"),
			metric.WithDescription("Duration of the evaluation of one item in the engine."),
			metric.WithExplicitBucketBoundaries(evaluationBuckets...))),
		compiles: checked(t.meter().Float64Histogram("crdeval.compile.duration", metric.WithUnit("s"),
			metric.WithDescription("Duration of the compilation of one version of a CRD."),
			metric.WithExplicitBucketBoundaries(compileBuckets...))),
	}
	for _, call := range []engine.Call{engine.CallValidate, engine.CallAdmit, engine.CallPrune, engine.CallDefault,
		engine.CallRead, engine.CallConvert} {
		for _, value := range []string{outcomeAllowed, outcomeRejected, outcomeDone, outcomeError} {
			set := attribute.NewSet(attribute.String("call", string(call)), attribute.String("outcome", value))
			e.attributes[outcome{call, value}] = []metric.RecordOption{metric.WithAttributeSet(set)}
		}
	}
	counter(t, "crdeval.evaluation.bytes", "By", "Size of the evaluated objects.", e.bytes.Load)
	counter(t, "crdeval.evaluation.explained", "{item}", "Items that took the exact path.", e.explained.Load)
	counter(t, "crdeval.evaluation.violations", "{violation}", "Violations reported.", e.violations.Load)
	return e
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
		value = outcomeRejected
	}
	e.evaluations.Record(ctx, event.Duration.Seconds(), e.attributes[outcome{event.Call, value}]...)
	e.bytes.Add(int64(event.Bytes))
	if event.Explained {
		e.explained.Add(1)
	}
	if event.Violations > 0 {
		e.violations.Add(int64(event.Violations))
	}
}

// StartBuild starts the span of the build of a compiled CRD. It is a cache.Options.OnBuild.
func (t *Telemetry) StartBuild(ctx context.Context) func(error) {
	_, span := t.Tracer.Tracer(scope).Start(ctx, "build program")
	return func(err error) {
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
