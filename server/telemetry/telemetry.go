// Package telemetry makes the server's traces and metrics: the OpenTelemetry providers, configured by OpenTelemetry's own environment
// variables; the Prometheus endpoint, which is always there; and the instruments that the engine's Observer, the cache and the registry
// report to.
//
// Attributes are few and bounded: a method, a call, an outcome. Neither peers nor objects nor CRDs become metric attributes: a tenant with
// a thousand CRDs must not make a thousand time series.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope names the instruments' origin.
const scope = "github.com/crdeval/crdeval/server"

// Telemetry holds the providers of one server. Nothing is registered globally but the handler of OpenTelemetry's own errors.
type Telemetry struct {
	Tracer     trace.TracerProvider
	Meter      *sdkmetric.MeterProvider
	Propagator propagation.TextMapPropagator

	prometheus *prometheus.Registry
	flush      func(context.Context) error // of the tracer
	log        *slog.Logger
}

// New makes the providers. Spans and metrics are exported by OTLP, or to the console, as OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER,
// OTEL_EXPORTER_OTLP_ENDPOINT and their relatives say; unless one of them is set, nothing leaves the process.
func New(ctx context.Context, version string, log *slog.Logger) (*Telemetry, error) {
	grpcLogger.Store(log)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry", "error", err) }))
	about, err := resource.New(ctx,
		resource.WithSchemaURL(""),
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "crdeval"), attribute.String("service.version", version)),
		resource.WithFromEnv(), // last, so that OTEL_SERVICE_NAME wins
	)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t := &Telemetry{
		Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		prometheus: prometheus.NewRegistry(),
		log:        log,
	}
	if err = t.newTracer(ctx, about); err != nil {
		return nil, fmt.Errorf("telemetry: traces (OTEL_TRACES_EXPORTER=%q): %w", os.Getenv("OTEL_TRACES_EXPORTER"), err)
	}
	if t.Meter, err = t.newMeter(ctx, about); err != nil {
		return nil, errors.Join(fmt.Errorf("telemetry: metrics (OTEL_METRICS_EXPORTER=%q): %w", os.Getenv("OTEL_METRICS_EXPORTER"), err), t.flush(ctx))
	}
	return t, nil
}

// asked says whether the environment wants a signal exported. OpenTelemetry's default is to export to localhost, which for a server
// that nobody observes means an error message a minute.
func asked(signal string) bool {
	for _, name := range []string{"OTEL_" + signal + "_EXPORTER", "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// newTracer makes spans only if they go anywhere. Otherwise a caller's trace is still passed on.
func (t *Telemetry) newTracer(ctx context.Context, about *resource.Resource) error {
	t.Tracer, t.flush = noop.NewTracerProvider(), func(context.Context) error { return nil }
	if !asked("TRACES") {
		return nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil || autoexport.IsNoneSpanExporter(exporter) {
		return err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(exporter))
	t.Tracer, t.flush = provider, provider.Shutdown
	return nil
}

func (t *Telemetry) newMeter(ctx context.Context, about *resource.Resource) (*sdkmetric.MeterProvider, error) {
	t.prometheus.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	scraped, err := otelprometheus.New(otelprometheus.WithRegisterer(t.prometheus), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, err
	}
	options := []sdkmetric.Option{
		sdkmetric.WithResource(about), sdkmetric.WithReader(scraped),
		bounded("http.server.*", "http.request.method", "http.response.status_code"),
		bounded("rpc.server.*", "rpc.system", "rpc.system.name", "rpc.service", "rpc.method", "rpc.response.status_code", "rpc.grpc.status_code"),
	}
	if !asked("TRACES") {
		options = append(options, sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter)) // examples of what, without traces
	}
	if asked("METRICS") {
		pushed, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return nil, err
		}
		if !autoexport.IsNoneMetricReader(pushed) {
			options = append(options, sdkmetric.WithReader(pushed))
		}
	}
	return sdkmetric.NewMeterProvider(options...), nil
}

// bounded leaves the instruments of that name the attributes whose values are ours alone: a Host header, for one, is the caller's to invent.
func bounded(name string, attributes ...attribute.Key) sdkmetric.Option {
	return sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: name}, sdkmetric.Stream{AttributeFilter: attribute.NewAllowKeysFilter(attributes...)}))
}

// Handler is the Prometheus endpoint.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.prometheus, promhttp.HandlerOpts{
		Registry: t.prometheus, ErrorHandling: promhttp.ContinueOnError, ErrorLog: scrapeLog{t.log}, EnableOpenMetrics: true,
	})
}

type scrapeLog struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (l scrapeLog) Println(v ...any) { l.log.Warn("metrics endpoint", "error", fmt.Sprint(v...)) }

// Close exports what is left, within ctx's deadline.
func (t *Telemetry) Close(ctx context.Context) error {
	return errors.Join(t.flush(ctx), t.Meter.Shutdown(ctx))
}
