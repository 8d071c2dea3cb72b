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

// figures are asynchronous instruments whose values are read when somebody looks.
type figures struct {
	meter metric.Meter
	made  []metric.Observable
	read  []func(metric.Observer)
	err   error
}

func (f *figures) gauge(name, unit, description string, read func() int64) {
	g, err := f.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	f.add(g, func(o metric.Observer) { o.ObserveInt64(g, read()) }, err)
}

func (f *figures) counter(name, unit, description string, read func() uint64) {
	c, err := f.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	f.add(c, func(o metric.Observer) { o.ObserveInt64(c, int64(read())) }, err)
}

func (f *figures) add(made metric.Observable, read func(metric.Observer), err error) {
	f.made, f.read, f.err = append(f.made, made), append(f.read, read), errors.Join(f.err, err)
}

// register has them all read together; before runs first, once a reading.
func (f *figures) register(before func()) error {
	if f.err != nil {
		return f.err
	}
	_, err := f.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		before()
		for _, read := range f.read {
			read(o)
		}
		return nil
	}, f.made...)
	return err
}

// ObserveCache publishes the figures of the cache of compiled programs.
func (t *Telemetry) ObserveCache(stats func() cache.Stats) error {
	var s cache.Stats
	f := figures{meter: t.Meter.Meter(scope)}
	f.gauge("crdeval.cache.entries", "{program}", "Compiled programs kept.", func() int64 { return int64(s.Entries) })
	f.gauge("crdeval.cache.bytes", "By", "What the kept programs weigh.", func() int64 { return s.Bytes })
	f.gauge("crdeval.cache.budget", "By", "What the kept programs may weigh: --cache-bytes.", func() int64 { return s.MaxBytes })
	f.counter("crdeval.cache.hits", "{lookup}", "Lookups that found their program.", func() uint64 { return s.Hits })
	f.counter("crdeval.cache.misses", "{lookup}", "Lookups that did not find their program, so that it was built or waited for.", func() uint64 { return s.Misses })
	f.counter("crdeval.cache.evictions", "{program}", "Programs that had to make room: the budget is too small if this grows steadily.", func() uint64 { return s.Evictions })
	f.counter("crdeval.cache.builds", "{build}", "Builds of programs that ended, well or badly.", func() uint64 { return s.Builds })
	f.counter("crdeval.cache.failures", "{build}", "Builds that ended badly.", func() uint64 { return s.Failures })
	f.counter("crdeval.cache.oversized", "{program}", "Programs heavier than the whole budget: handed out, not kept.", func() uint64 { return s.Oversized })
	return f.register(func() { s = stats() })
}

// ObserveRegistry publishes how much is registered.
func (t *Telemetry) ObserveRegistry(counts func() registry.Counts) error {
	var n registry.Counts
	f := figures{meter: t.Meter.Meter(scope)}
	f.gauge("crdeval.registry.catalogs", "{catalog}", "Catalogs, the default one included.", func() int64 { return int64(n.Catalogs) })
	f.gauge("crdeval.registry.crds", "{crd}", "Registered CRDs.", func() int64 { return int64(n.CRDs) })
	f.gauge("crdeval.registry.revisions", "{revision}", "Revisions kept, the current ones included.", func() int64 { return int64(n.Revisions) })
	f.gauge("crdeval.registry.manifest_bytes", "By", "Memory of all kept manifests, compressed.", func() int64 { return n.ManifestBytes })
	return f.register(func() { n = counts() })
}

// Replica is what a replica knows of the store that it shares with others, or has for itself.
type Replica struct {
	Following func() error  // nil while every write is seen, by whomever
	Sequence  func() uint64 // of the last commit that was seen
	Watches   func() int64  // calls of WatchCrds under way
}

// ObserveReplica publishes how a replica keeps up: the sequence of one that lags is behind that of the others.
func (t *Telemetry) ObserveReplica(r Replica) error {
	f := figures{meter: t.Meter.Meter(scope)}
	f.gauge("crdeval.registry.following", "", "1 while the store is followed, 0 while it cannot be: what is known is evaluated then, and registrations fail.", func() int64 {
		if r.Following() != nil {
			return 0
		}
		return 1
	})
	f.gauge("crdeval.registry.sequence", "{commit}", "Sequence of the last commit to the store that was seen: how far it is behind that of another replica is the lag in commits.",
		func() int64 { return int64(r.Sequence()) })
	f.gauge("crdeval.registry.watches", "{call}", "Calls of WatchCrds under way.", r.Watches)
	return f.register(func() {})
}

// ObserveDirectories publishes how the directories of --crds fare.
func (t *Telemetry) ObserveDirectories(stats func() directory.Stats) error {
	var s directory.Stats
	f := figures{meter: t.Meter.Meter(scope)}
	f.gauge("crdeval.directory.files", "{file}", "Files in the directories of --crds with nothing wrong.", func() int64 { return int64(s.Files) })
	f.gauge("crdeval.directory.broken", "{file}", "Files in the directories of --crds with something wrong, and directories that cannot be read: the log says what.", func() int64 { return int64(s.Broken) })
	f.gauge("crdeval.directory.crds", "{crd}", "CRDs registered from the directories of --crds.", func() int64 { return int64(s.CRDs) })
	f.gauge("crdeval.directory.last_success", "s", "When the directories of --crds were last read and everything in them was registered, in seconds since 1970; 0: never.", func() int64 {
		if s.LastSuccess.IsZero() {
			return 0
		}
		return s.LastSuccess.Unix()
	})
	return f.register(func() { s = stats() })
}

// RegistrationFailed is the outcome of a registration that came to none of the registry's own: the store failed, the manifest could not be read.
const RegistrationFailed = "ERROR"

// CountFailedItems publishes how many items were answered with an error. The function it returns counts one by its reason, one of the API's.
func (t *Telemetry) CountFailedItems() (func(reason string), error) {
	counter, err := t.Meter.Meter(scope).Int64Counter("crdeval.items.failed", metric.WithUnit("{item}"),
		metric.WithDescription("Items of evaluations that were answered with an error, by reason: not evaluated, or not to the end."))
	if err != nil {
		return nil, err
	}
	return func(reason string) {
		counter.Add(context.Background(), 1, metric.WithAttributeSet(attribute.NewSet(attribute.String("reason", reason))))
	}, nil
}

// CountRegistrations publishes what came of registrations. The function it returns counts one by its outcome: one of the registry's, or RegistrationFailed.
func (t *Telemetry) CountRegistrations() (func(outcome string), error) {
	counter, err := t.Meter.Meter(scope).Int64Counter("crdeval.registrations", metric.WithUnit("{crd}"), metric.WithDescription("CRDs that came to be registered, by outcome."))
	if err != nil {
		return nil, err
	}
	outcomes := map[string]metric.AddOption{}
	for _, outcome := range []string{string(registry.Created), string(registry.Updated), string(registry.Unchanged), string(registry.Refused), RegistrationFailed} {
		outcomes[outcome] = metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", strings.ToLower(outcome))))
		counter.Add(context.Background(), 0, outcomes[outcome]) // so that a rate begins at the first one
	}
	return func(outcome string) {
		if o, ok := outcomes[outcome]; ok {
			counter.Add(context.Background(), 1, o)
		}
	}, nil
}

// ObserveCertificate publishes when the served certificate expires.
func (t *Telemetry) ObserveCertificate(expires func() time.Time) error {
	f := figures{meter: t.Meter.Meter(scope)}
	f.gauge("crdeval.tls.certificate.expiry", "s", "When the served certificate expires, in seconds since 1970.", func() int64 { return expires().Unix() })
	return f.register(func() {})
}

// ObserveInFlight publishes how many calls are in flight, to be seen beside the bound of --max-in-flight, and how much work goes on after its call.
func (t *Telemetry) ObserveInFlight(calls func() int) error {
	f := figures{meter: t.Meter.Meter(scope)}
	f.gauge("crdeval.calls.in_flight", "{call}", "Calls in flight, over gRPC and REST together.", func() int64 { return int64(calls()) })
	f.gauge("crdeval.rules.left_behind", "{rule}", "Rules that are still compiled or evaluated although their calls have ended.", engine.LeftBehind)
	return f.register(func() {})
}

// ObserveBodies publishes what the bodies of REST requests take in memory.
func (t *Telemetry) ObserveBodies(bytes func() int64) error {
	f := figures{meter: t.Meter.Meter(scope)}
	f.gauge("crdeval.rest.body_bytes", "By", "Bodies of REST requests that are in memory.", bytes)
	return f.register(func() {})
}

// CountRefusals publishes how many calls were refused because the server was overloaded: they are refused before anything else counts
// them. The function it returns counts one.
func (t *Telemetry) CountRefusals() (func(), error) {
	var n atomic.Uint64
	f := figures{meter: t.Meter.Meter(scope)}
	f.counter("crdeval.calls.refused", "{call}", "Calls refused with OVERLOADED.", n.Load)
	return func() { n.Add(1) }, f.register(func() {})
}
