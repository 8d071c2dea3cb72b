package telemetry

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/directory"
)

// observed is an asynchronous instrument. Its value is read from a snapshot of type T.
type observed[T any] struct {
	name, unit, description string
	value                   func(T) int64
	counter                 bool // a counter instead of a gauge
}

func gauge[T any](name, unit, description string, value func(T) int64) observed[T] {
	return observed[T]{name, unit, description, value, false}
}

func counter[T any](name, unit, description string, value func(T) int64) observed[T] {
	return observed[T]{name, unit, description, value, true}
}

// observe registers instruments. Each collection takes one snapshot for all of them. The snapshot is local to the
// collection, because several readers may collect at the same time.
func observe[T any](t *Telemetry, snapshot func() T, instruments ...observed[T]) error {
	meter := t.Meter.Meter(scope)
	var errs []error
	var observables []metric.Observable
	var record []func(metric.Observer, T)
	for _, i := range instruments {
		var made metric.Int64Observable
		var err error
		if i.counter {
			made, err = meter.Int64ObservableCounter(i.name, metric.WithUnit(i.unit), metric.WithDescription(i.description))
		} else {
			made, err = meter.Int64ObservableGauge(i.name, metric.WithUnit(i.unit), metric.WithDescription(i.description))
		}
		errs, observables = append(errs, err), append(observables, made)
		record = append(record, func(o metric.Observer, s T) { o.ObserveInt64(made, i.value(s)) })
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := snapshot()
		for _, r := range record {
			r(o, s)
		}
		return nil
	}, observables...)
	return err
}

// observeGauge registers a single gauge.
func (t *Telemetry) observeGauge(name, unit, description string, read func() int64) error {
	return observe(t, read, gauge(name, unit, description, identity))
}

func identity(n int64) int64 { return n }

// ObserveCache publishes the statistics of the cache of compiled CRDs.
func (t *Telemetry) ObserveCache(stats func() cache.Stats) error {
	type s = cache.Stats
	return observe(t, stats,
		gauge("crdeval.cache.entries", "{program}", "Cached compiled CRDs.", func(s s) int64 { return int64(s.Entries) }),
		gauge("crdeval.cache.bytes", "By", "Memory used by the cache.", func(s s) int64 { return s.Bytes }),
		gauge("crdeval.cache.budget", "By", "Memory limit: --cache-bytes.", func(s s) int64 { return s.MaxBytes }),
		counter("crdeval.cache.hits", "{lookup}", "Lookups that hit.", func(s s) int64 { return int64(s.Hits) }),
		counter("crdeval.cache.misses", "{lookup}", "Lookups that missed.", func(s s) int64 { return int64(s.Misses) }),
		counter("crdeval.cache.evictions", "{program}", "Evictions. A steady increase means that the limit is too small.",
			func(s s) int64 { return int64(s.Evictions) }),
		counter("crdeval.cache.builds", "{build}", "Finished builds.", func(s s) int64 { return int64(s.Builds) }),
		counter("crdeval.cache.failures", "{build}", "Failed builds.", func(s s) int64 { return int64(s.Failures) }),
		counter("crdeval.cache.oversized", "{program}", "Compiled CRDs that exceed the limit and are not cached.",
			func(s s) int64 { return int64(s.Oversized) }),
	)
}

// ObserveRegistry publishes how much is registered.
func (t *Telemetry) ObserveRegistry(counts func() registry.Counts) error {
	type s = registry.Counts
	return observe(t, counts,
		gauge("crdeval.registry.catalogs", "{catalog}", "Catalogs.", func(s s) int64 { return int64(s.Catalogs) }),
		gauge("crdeval.registry.crds", "{crd}", "Registered CRDs.", func(s s) int64 { return int64(s.CRDs) }),
		gauge("crdeval.registry.revisions", "{revision}", "Stored revisions, including current ones.",
			func(s s) int64 { return int64(s.Revisions) }),
		gauge("crdeval.registry.manifest_bytes", "By", "Memory used by compressed manifests.",
			func(s s) int64 { return s.ManifestBytes }),
	)
}

// Replica reads the state of this server's copy of the store.
type Replica struct {
	Following func() error  // nil while the server receives all commits
	Sequence  func() uint64 // number of the last commit received
	Watches   func() int64  // WatchCrds calls in progress
}

// ObserveReplica publishes how far this server follows the store. Compare the sequences of replicas to see a lag.
func (t *Telemetry) ObserveReplica(r Replica) error {
	following := func() int64 {
		if r.Following() != nil {
			return 0
		}
		return 1
	}
	return errors.Join(
		t.observeGauge("crdeval.registry.following", "",
			"1 while the server follows the store, else 0: then it serves what it has, and registrations fail.", following),
		t.observeGauge("crdeval.registry.sequence", "{commit}",
			"Number of the last commit received from the store. The difference between two replicas is the lag in commits.",
			func() int64 { return int64(r.Sequence()) }),
		t.observeGauge("crdeval.registry.watches", "{call}", "WatchCrds calls in progress.", r.Watches),
	)
}

// ObserveDirectories publishes the state of the directories of --crds.
func (t *Telemetry) ObserveDirectories(stats func() directory.Stats) error {
	type s = directory.Stats
	lastSuccess := func(s s) int64 {
		if s.LastSuccess.IsZero() {
			return 0
		}
		return s.LastSuccess.Unix()
	}
	return observe(t, stats,
		gauge("crdeval.directory.files", "{file}", "Files of --crds without errors.",
			func(s s) int64 { return int64(s.Files) }),
		gauge("crdeval.directory.broken", "{file}", "Files of --crds with errors, and unreadable directories; see the log.",
			func(s s) int64 { return int64(s.Broken) }),
		gauge("crdeval.directory.crds", "{crd}", "CRDs registered from --crds.", func(s s) int64 { return int64(s.CRDs) }),
		gauge("crdeval.directory.last_success", "s", "Unix time of the last load without errors; 0: never.", lastSuccess),
	)
}

// ObserveCertificate publishes when the served certificate expires.
func (t *Telemetry) ObserveCertificate(expires func() time.Time) error {
	return t.observeGauge("crdeval.tls.certificate.expiry", "s", "Unix time at which the served certificate expires.",
		func() int64 { return expires().Unix() })
}

// ObserveInFlight publishes the calls in progress, and the rules that still run although their calls have ended.
func (t *Telemetry) ObserveInFlight(calls func() int) error {
	return errors.Join(
		t.observeGauge("crdeval.calls.in_flight", "{call}",
			"Calls in progress, over gRPC and REST. The limit is --max-in-flight.",
			func() int64 { return int64(calls()) }),
		t.observeGauge("crdeval.rules.left_behind", "{rule}",
			"Rules that are still being compiled or evaluated although their calls have ended.", engine.LeftBehind),
	)
}

// ObserveBodies publishes the memory used by the bodies of REST requests.
func (t *Telemetry) ObserveBodies(bytes func() int64) error {
	return t.observeGauge("crdeval.rest.body_bytes", "By", "Memory used by the bodies of REST requests.", bytes)
}

// CountRejectedCalls publishes the calls rejected with OVERLOADED. Other metrics do not include them. The returned
// function counts one.
func (t *Telemetry) CountRejectedCalls() (func(), error) {
	var n atomic.Int64
	err := observe(t, n.Load, counter("crdeval.calls.rejected", "{call}", "Calls rejected with OVERLOADED.", identity))
	return func() { n.Add(1) }, err
}

// CountFailedItems publishes the items answered with an error. The returned function counts one by its ErrorReason.
func (t *Telemetry) CountFailedItems() (func(reason string), error) {
	counter, err := t.Meter.Meter(scope).Int64Counter("crdeval.items.failed", metric.WithUnit("{item}"),
		metric.WithDescription("Items that could not be evaluated, by the reason of the error."))
	return func(reason string) {
		counter.Add(context.Background(), 1, metric.WithAttributes(attribute.String("reason", reason)))
	}, err
}

// RegistrationFailed is the outcome of a registration that ended with an error instead of a registry.Outcome.
const RegistrationFailed = "ERROR"

// CountRegistrations publishes the outcomes of registrations. The returned function counts one by its outcome: a
// registry.Outcome or RegistrationFailed.
func (t *Telemetry) CountRegistrations() (func(outcome string), error) {
	var sets []attribute.Set
	outcomes := []string{string(registry.Created), string(registry.Updated), string(registry.Unchanged),
		string(registry.Rejected)}
	for _, outcome := range append(outcomes, RegistrationFailed) {
		sets = append(sets, attribute.NewSet(attribute.String("outcome", strings.ToLower(outcome))))
	}
	count, err := t.countSets("crdeval.registrations", "{crd}", "Registrations of CRDs, by outcome.", sets)
	return func(outcome string) { count(attribute.NewSet(attribute.String("outcome", strings.ToLower(outcome)))) }, err
}

// CountReviews publishes the answers of the admission webhooks. The returned function counts one by the webhook and
// its outcome: a webhook.Outcome, or "error".
func (t *Telemetry) CountReviews() (func(webhook, outcome string), error) {
	key := func(webhook, outcome string) attribute.Set {
		return attribute.NewSet(attribute.String("webhook", webhook), attribute.String("outcome", outcome))
	}
	sets := []attribute.Set{key("mutate", "patched")}
	for _, webhook := range []string{"mutate", "validate"} {
		for _, outcome := range []string{"allowed", "denied", "unseen", "error"} {
			sets = append(sets, key(webhook, outcome))
		}
	}
	count, err := t.countSets("crdeval.webhook.reviews", "{review}",
		"Reviews sent to admission webhooks, by webhook and outcome. After an error the failurePolicy decides.", sets)
	return func(webhook, outcome string) { count(key(webhook, outcome)) }, err
}

// countSets creates a counter for a fixed list of attribute sets. Each starts at 0, so that rates include the first event.
// The returned function counts one; it ignores other sets, which callers could invent.
func (t *Telemetry) countSets(name, unit, description string, sets []attribute.Set) (func(attribute.Set), error) {
	counter, err := t.Meter.Meter(scope).Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	if err != nil {
		return nil, err
	}
	known := map[attribute.Distinct]bool{}
	for _, set := range sets {
		known[set.Equivalent()] = true
		counter.Add(context.Background(), 0, metric.WithAttributeSet(set))
	}
	return func(set attribute.Set) {
		if known[set.Equivalent()] {
			counter.Add(context.Background(), 1, metric.WithAttributeSet(set))
		}
	}, nil
}
