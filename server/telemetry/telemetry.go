// Package telemetry has the traces and metrics of the server: the OpenTelemetry providers, which are configured by the
// environment variables of OpenTelemetry, the Prometheus endpoint, and (metrics.go) the instruments of the server.
//
// The values of attributes are bounded: method, call, outcome. Peers and objects are not attributes. Hosts and CRDs are
// attributes of some metrics, with a maximum number of values.
package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/stats"
)

// scope is the instrumentation scope.
const scope = "github.com/crdeval/crdeval/server"

// Telemetry has the providers of a server. Only the handler of OpenTelemetry errors is global.
type Telemetry struct {
	Tracer     trace.TracerProvider
	Meter      *sdkmetric.MeterProvider
	Propagator propagation.TextMapPropagator

	prometheus *prometheus.Registry
	flush      func(context.Context) error // of the tracer
	log        *slog.Logger
}

// New creates the providers. Nothing is exported unless OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER or
// OTEL_EXPORTER_OTLP_ENDPOINT is set.
func New(ctx context.Context, version string, log *slog.Logger) (*Telemetry, error) {
	grpcLogger.Store(log)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry", "error", err) }))
	about, err := resource.New(ctx,
		resource.WithSchemaURL(""),
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "crdeval"), attribute.String("service.version", version)),
		resource.WithFromEnv(), // last: OTEL_SERVICE_NAME takes precedence
	)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t := &Telemetry{
		Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		prometheus: prometheus.NewRegistry(), log: log,
	}
	if err = t.newTracer(ctx, about); err != nil {
		return nil, fmt.Errorf("telemetry: traces (OTEL_TRACES_EXPORTER=%q): %w", os.Getenv("OTEL_TRACES_EXPORTER"), err)
	}
	if t.Meter, err = t.newMeter(ctx, about); err != nil {
		return nil, errors.Join(fmt.Errorf("telemetry: metrics (OTEL_METRICS_EXPORTER=%q): %w",
			os.Getenv("OTEL_METRICS_EXPORTER"), err), t.flush(ctx))
	}
	return t, nil
}

func (t *Telemetry) meter() metric.Meter { return t.Meter.Meter(scope) }

// asked reports whether the environment configures the export of a signal. By default, OpenTelemetry exports to
// localhost. Without a collector there, it logs an error every minute.
func asked(signal string) bool {
	for _, name := range []string{"OTEL_" + signal + "_EXPORTER", "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT",
		"OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

func (t *Telemetry) newMeter(ctx context.Context, about *resource.Resource) (*sdkmetric.MeterProvider, error) {
	t.prometheus.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	scraped, err := otelprometheus.New(otelprometheus.WithRegisterer(t.prometheus), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, err
	}
	options := []sdkmetric.Option{
		sdkmetric.WithResource(about), sdkmetric.WithReader(scraped),
		bounded("http.server.*", "http.request.method", "http.response.status_code"),
		bounded("rpc.server.*", "rpc.system", "rpc.system.name", "rpc.service", "rpc.method", "rpc.response.status_code",
			"rpc.grpc.status_code"),
	}
	if !asked("TRACES") {
		options = append(options, sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter)) // exemplars need traces
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

// bounded keeps only the given attributes of instruments. Callers can invent values of others, such as the Host header.
func bounded(name string, attributes ...attribute.Key) sdkmetric.Option {
	return sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: name},
		sdkmetric.Stream{AttributeFilter: attribute.NewAllowKeysFilter(attributes...)}))
}

// Handler returns the Prometheus endpoint.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.prometheus, promhttp.HandlerOpts{
		Registry: t.prometheus, ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true,
		ErrorLog: metricsLog{t.log},
	})
}

// metricsLog logs errors of /metrics: at debug level, because clients that disconnect cause most and could fill the log,
// except for metrics that cannot be read.
type metricsLog struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (l metricsLog) Println(v ...any) {
	text, level := strings.TrimSpace(fmt.Sprintln(v...)), slog.LevelDebug
	if strings.HasPrefix(text, "error gathering") {
		level = slog.LevelWarn
	}
	l.log.Log(context.Background(), level, "metrics", "error", text)
}

// Close exports the remaining data.
func (t *Telemetry) Close(ctx context.Context) error {
	return errors.Join(t.flush(ctx), t.Meter.Shutdown(ctx))
}

// ServerHandler traces and measures the calls of a gRPC server. It ignores health probes, reflection, and methods for
// which known returns false: callers can invent names of methods.
func (t *Telemetry) ServerHandler(known func(method string) bool) stats.Handler {
	measured := func(method string) bool { return !strings.HasPrefix(method, "/grpc.") && known(method) }
	if !asked("TRACES") && os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN") == "" {
		return t.newCallHandler(measured)
	}
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.Tracer), otelgrpc.WithMeterProvider(t.Meter), otelgrpc.WithPropagators(t.Propagator),
		otelgrpc.WithFilter(func(info *stats.RPCTagInfo) bool { return measured(info.FullMethodName) }),
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

// grpcLogger is the global logger of gRPC and grpc-gateway, set by New. nil discards.
var grpcLogger atomic.Pointer[slog.Logger]

// gRPC reads its logger without a lock, so it is set before anything runs.
func init() { grpclog.SetLoggerV2(grpclog.NewLoggerV2(grpcLog{}, io.Discard, io.Discard)) } //nolint:gochecknoinits // see above

// grpcLog writes lines "DATE TIME SEVERITY: text" at debug level, because clients cause most and could fill the log.
type grpcLog struct{}

// Write implements io.Writer.
func (grpcLog) Write(line []byte) (int, error) {
	if log := grpcLogger.Load(); log != nil {
		head, text, _ := bytes.Cut(line, []byte(": "))
		log.Debug("grpc", "severity", string(head[bytes.LastIndexByte(head, ' ')+1:]), "text", string(bytes.TrimSpace(text)))
	}
	return len(line), nil
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

// newTracer creates spans only if they are exported. The trace of a caller is propagated in any case.
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
