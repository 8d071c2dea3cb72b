package telemetry

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/server/access/audit"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/flow"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/directory"
)

// checked returns an instrument. It logs an error, which is possible only for an invalid name or unit.
func checked[T any](instrument T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return instrument
}

// read returns a callback that observes a number.
func read[N int | int64 | uint64](number func() N) metric.Int64Callback {
	return func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(int64(number()))
		return nil
	}
}

// gauge publishes a number.
func gauge[N int | int64 | uint64](t *Telemetry, name, unit, description string, number func() N) {
	checked(t.meter().Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description),
		metric.WithInt64Callback(read(number))))
}

// counter publishes a number that only increases.
func counter[N int | int64 | uint64](t *Telemetry, name, unit, description string, number func() N) {
	checked(t.meter().Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description),
		metric.WithInt64Callback(read(number))))
}

// ObserveCache publishes the statistics of the cache of compiled CRDs.
func (t *Telemetry) ObserveCache(stats func() cache.Stats) {
	gauge(t, "crdeval.cache.entries", "{program}", "Cached compiled CRDs.", func() int { return stats().Entries })
	gauge(t, "crdeval.cache.bytes", "By", "Memory used by the cache.", func() int64 { return stats().Bytes })
	gauge(t, "crdeval.cache.budget", "By", "Memory limit: --cache-bytes.", func() int64 { return stats().MaxBytes })
	counter(t, "crdeval.cache.hits", "{lookup}", "Lookups that hit.", func() uint64 { return stats().Hits })
	counter(t, "crdeval.cache.misses", "{lookup}", "Lookups that missed.", func() uint64 { return stats().Misses })
	counter(t, "crdeval.cache.evictions", "{program}",
		"Evictions. A steady increase means that the limit is too small.", func() uint64 { return stats().Evictions })
	counter(t, "crdeval.cache.builds", "{build}", "Finished builds.", func() uint64 { return stats().Builds })
	counter(t, "crdeval.cache.failures", "{build}", "Failed builds.", func() uint64 { return stats().Failures })
	counter(t, "crdeval.cache.oversized", "{program}",
		"Compiled CRDs that exceed the limit and are not cached.", func() uint64 { return stats().Oversized })
}

// ObserveRegistry publishes how much is registered.
func (t *Telemetry) ObserveRegistry(counts func() registry.Counts) {
	gauge(t, "crdeval.registry.catalogs", "{catalog}", "Catalogs.", func() int { return counts().Catalogs })
	gauge(t, "crdeval.registry.crds", "{crd}", "Registered CRDs.", func() int { return counts().CRDs })
	gauge(t, "crdeval.registry.revisions", "{revision}", "Stored revisions, including current ones.",
		func() int { return counts().Revisions })
	gauge(t, "crdeval.registry.manifest_bytes", "By", "Memory used by compressed manifests.",
		func() int64 { return counts().ManifestBytes })
}

// ObserveReplica publishes how far this server follows the store. Compare the sequences of replicas to see a lag.
func (t *Telemetry) ObserveReplica(r interface {
	Following() error
	Sequence() uint64
	Watches() int64
}) {
	gauge(t, "crdeval.registry.following", "",
		"1 while the server follows the store, else 0: then it serves what it has, and registrations fail.", func() int {
			if r.Following() != nil {
				return 0
			}
			return 1
		})
	gauge(t, "crdeval.registry.sequence", "{commit}",
		"Number of the last commit received from the store. The difference between two replicas is the lag in commits.",
		r.Sequence)
	gauge(t, "crdeval.registry.watches", "{call}", "WatchCrds calls in progress.", r.Watches)
}

// ObserveDirectories publishes the state of the directories of --crds.
func (t *Telemetry) ObserveDirectories(stats func() directory.Stats) {
	gauge(t, "crdeval.directory.files", "{file}", "Files of --crds without errors.", func() int { return stats().Files })
	gauge(t, "crdeval.directory.broken", "{file}",
		"Files of --crds with errors, and unreadable directories; see the log.", func() int { return stats().Broken })
	gauge(t, "crdeval.directory.crds", "{crd}", "CRDs registered from --crds.", func() int { return stats().CRDs })
	gauge(t, "crdeval.directory.last_success", "s", "Unix time of the last load without errors; 0: never.", func() int64 {
		return max(stats().LastSuccess.Unix(), 0)
	})
}

// ObserveCertificate publishes when the served certificate expires.
func (t *Telemetry) ObserveCertificate(expires func() time.Time) {
	gauge(t, "crdeval.tls.certificate.expiry", "s", "Unix time at which the served certificate expires.",
		func() int64 { return expires().Unix() })
}

// ObserveInFlight publishes the calls in progress, and the rules that still run although their calls have ended.
func (t *Telemetry) ObserveInFlight(state func() call.LimiterState) {
	gauge(t, "crdeval.calls.in_flight", "{call}",
		"Calls in progress, over gRPC and REST. The limit is --max-in-flight.",
		func() int { s := state(); return s.Active + s.Paused })
	gauge(t, "crdeval.calls.active", "{call}", "Calls in progress that run or wait for CPU.", func() int { return state().Active })
	gauge(t, "crdeval.calls.limit", "{call}",
		"Adaptive limit of active calls. It is enforced when calls exceed it for longer than a burst.", func() int { return state().Limit })
	gauge(t, "crdeval.rules.left_behind", "{rule}",
		"Rules that are still being compiled or evaluated although their calls have ended.", host.LeftBehind)
}

// ObserveScheduler publishes the seats of the scheduler, and the work that holds them or waits for them.
func (t *Telemetry) ObserveScheduler(stats func() flow.Stats) {
	gauge(t, "crdeval.scheduler.seats", "{seat}", "Pieces of work that can run at a time.", func() int { return stats().Seats })
	gauge(t, "crdeval.scheduler.running", "{work}", "Pieces of work that run: evaluations, compilations, tables.",
		func() int { return stats().Running })
	gauge(t, "crdeval.scheduler.waiting", "{work}", "Pieces of work that wait for a seat.", func() int { return stats().Waiting })
	checked(t.meter().Float64ObservableCounter("crdeval.scheduler.waited", metric.WithUnit("s"),
		metric.WithDescription("Time for which work waited for a seat, summed over all work."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			o.Observe(stats().Waited.Seconds())
			return nil
		})))
}

// ObserveAudit publishes the lines of the audit log.
func (t *Telemetry) ObserveAudit(stats func() audit.Stats) {
	counter(t, "crdeval.audit.written", "{line}", "Lines written to the audit log.", func() int64 { return stats().Written })
	counter(t, "crdeval.audit.lost", "{line}",
		"Lines of the audit log that could not be written. Denied calls above the limit of their rate do not count.",
		func() int64 { return stats().Lost })
	gauge(t, "crdeval.audit.queued", "{line}", "Lines of the audit log that wait to be written.", func() int { return stats().Queued })
}

// CountRejectedCalls publishes the calls rejected with OVERLOADED, by reason. Other metrics do not include them. The
// returned function counts a call. It is cheap, because most calls are rejected in an overload. An unknown reason
// counts as the last of reasons.
func (t *Telemetry) CountRejectedCalls(reasons ...string) func(reason string) {
	type count struct {
		calls atomic.Int64
		of    metric.MeasurementOption
	}
	counts := make([]count, len(reasons))
	index := map[string]*count{}
	for i, reason := range reasons {
		counts[i].of = metric.WithAttributeSet(attribute.NewSet(attribute.String("reason", reason)))
		index[reason] = &counts[i]
	}
	checked(t.meter().Int64ObservableCounter("crdeval.calls.rejected", metric.WithUnit("{call}"),
		metric.WithDescription("Calls rejected with OVERLOADED, by reason."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			for i := range counts {
				o.Observe(counts[i].calls.Load(), counts[i].of)
			}
			return nil
		})))
	return func(reason string) { cmp.Or(index[reason], &counts[len(counts)-1]).calls.Add(1) }
}

// CountFailedItems publishes the items answered with an error. The returned function counts one by its ErrorReason.
func (t *Telemetry) CountFailedItems() func(reason string) {
	count := t.countSets("crdeval.items.failed", "{item}", "Items that could not be evaluated, by the reason of the error.")
	return func(reason string) { count(attribute.NewSet(attribute.String("reason", reason))) }
}

// CountRegistrations publishes the outcomes of registrations of CRDs and of changes of conversion rules. The returned
// function is a registry.Options.Registered.
func (t *Telemetry) CountRegistrations() func(registry.Subject, registry.Outcome, error) {
	const failed = "error"
	key := func(of registry.Subject, outcome registry.Outcome) attribute.Set {
		return attribute.NewSet(attribute.String("subject", string(of)), attribute.String("outcome", strings.ToLower(string(outcome))))
	}
	sets := []attribute.Set{key(registry.SubjectCRD, registry.Created)}
	for _, of := range []registry.Subject{registry.SubjectCRD, registry.SubjectConversion} {
		for _, outcome := range []registry.Outcome{registry.Updated, registry.Unchanged, registry.Rejected, failed} {
			sets = append(sets, key(of, outcome))
		}
	}
	count := t.countSets("crdeval.registrations", "{registration}",
		"Registrations of CRDs and changes of conversion rules, by subject and outcome.", sets...)
	return func(of registry.Subject, outcome registry.Outcome, err error) {
		if err != nil {
			outcome = failed
		}
		count(key(of, outcome))
	}
}

// CountReviews publishes the answers of the webhooks. The returned function counts one by the webhook and its outcome: a
// webhook.Outcome, or "error".
func (t *Telemetry) CountReviews() func(webhook, outcome string) {
	key := func(webhook, outcome string) attribute.Set {
		return attribute.NewSet(attribute.String("webhook", webhook), attribute.String("outcome", outcome))
	}
	sets := []attribute.Set{key("mutate", "patched")}
	for _, webhook := range []string{"mutate", "validate"} {
		for _, outcome := range []string{"allowed", "denied", "skipped", "error"} {
			sets = append(sets, key(webhook, outcome))
		}
	}
	for _, outcome := range []string{"success", "failure", "error"} {
		sets = append(sets, key("convert", outcome))
	}
	count := t.countSets("crdeval.webhook.reviews", "{review}",
		"Reviews sent to webhooks, by webhook and outcome. After an error of an admission webhook the failurePolicy decides.",
		sets...)
	return func(webhook, outcome string) { count(key(webhook, outcome)) }
}

// countSets creates a counter, and returns a function that counts one for an attribute set. The given sets start at 0,
// so that rates include the first event.
func (t *Telemetry) countSets(name, unit, description string, sets ...attribute.Set) func(attribute.Set) {
	c := checked(t.meter().Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description)))
	for _, set := range sets {
		c.Add(context.Background(), 0, metric.WithAttributeSet(set))
	}
	return func(set attribute.Set) { c.Add(context.Background(), 1, metric.WithAttributeSet(set)) }
}

// Evaluations take microseconds, compilations milliseconds. OpenTelemetry's default buckets start at 5 ms.
var (
	evaluationBuckets = []float64{1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 2.5e-2, 0.1, 1}
	compileBuckets    = []float64{1e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.5, 1, 5}
)

// Engine implements host.Observer.
type Engine struct {
	evaluations, compiles metric.Float64Histogram
	attributes            map[outcome][]metric.RecordOption // built once: recording an evaluation does not allocate

	// Totals, published at collection: adding to an instrument takes as long as validating a small object.
	bytes, exact, violations atomic.Int64
}

var _ host.Observer = (*Engine)(nil)

type outcome struct {
	call  host.Call
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
	for _, call := range []host.Call{host.Validate, host.Admit, host.Prune, host.Default,
		host.Read, host.Convert} {
		for _, value := range []string{outcomeAllowed, outcomeRejected, outcomeDone, outcomeError} {
			set := attribute.NewSet(attribute.String("call", string(call)), attribute.String("outcome", value))
			e.attributes[outcome{call, value}] = []metric.RecordOption{metric.WithAttributeSet(set)}
		}
	}
	counter(t, "crdeval.evaluation.bytes", "By", "Size of the evaluated objects.", e.bytes.Load)
	counter(t, "crdeval.evaluation.exact", "{item}", "Items that took the exact path.", e.exact.Load)
	counter(t, "crdeval.evaluation.violations", "{violation}", "Violations reported.", e.violations.Load)
	return e
}

// Compiled implements host.Observer.
func (e *Engine) Compiled(ctx context.Context, event host.CompileEvent) {
	e.compiles.Record(ctx, event.Duration.Seconds())
}

// Evaluated implements host.Observer.
func (e *Engine) Evaluated(ctx context.Context, event host.EvaluationEvent) {
	value := outcomeDone
	switch {
	case event.Err != nil:
		value = outcomeError
	case event.Allowed:
		value = outcomeAllowed
	case event.Call == host.Validate || event.Call == host.Admit:
		value = outcomeRejected
	}
	e.evaluations.Record(ctx, event.Duration.Seconds(), e.attributes[outcome{event.Call, value}]...)
	e.bytes.Add(int64(event.Bytes))
	if event.Exact {
		e.exact.Add(1)
	}
	if event.Violations > 0 {
		e.violations.Add(int64(event.Violations))
	}
}
