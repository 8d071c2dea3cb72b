package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/crdeval/crdeval/server/call"
)

// ObserveMemory publishes the use of the memory of calls.
func (t *Telemetry) ObserveMemory(stats func() call.MemoryStats) {
	checked(t.meter().Int64ObservableGauge("crdeval.memory.bytes", metric.WithUnit("By"),
		metric.WithDescription("Memory of calls, by kind: request, tree, response."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			for kind, bytes := range stats().Bytes {
				o.Observe(bytes, metric.WithAttributes(attribute.String("kind", call.Kind(kind).String())))
			}
			return nil
		})))
	gauge(t, "crdeval.memory.budget", "By", "Limit of the memory of calls. It derives from --memory.",
		func() int64 { return stats().Total })
	counter(t, "crdeval.memory.rejections", "{request}", "Requests for memory that were rejected.",
		func() int64 { return stats().Rejected })
}

// ObserveConnections publishes the open connections, and the connections closed because of a limit. The returned
// function counts a closed connection.
func (t *Telemetry) ObserveConnections(open func() int, reasons ...string) func(reason string) {
	gauge(t, "crdeval.connections", "{connection}", "Open connections of all listeners.", open)
	key := func(reason string) attribute.Set { return attribute.NewSet(attribute.String("reason", reason)) }
	sets := make([]attribute.Set, 0, len(reasons))
	for _, reason := range reasons {
		sets = append(sets, key(reason))
	}
	count := t.countSets("crdeval.connections.closed", "{connection}", "Connections closed because of a bound, by reason.", sets...)
	return func(reason string) { count(key(reason)) }
}
