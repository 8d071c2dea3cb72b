package telemetry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/directory"
	"github.com/crdeval/crdeval/server/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTelemetry(t *testing.T) *Telemetry {
	t.Helper()
	tel, err := New(t.Context(), "v1.2.3", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tel
}

func scrape(t *testing.T, tel *Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	return w.Body.String()
}

// brokenWriter is the response to a client that has disconnected.
type brokenWriter struct{ *httptest.ResponseRecorder }

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

// TestMetricsLog: a client that disconnects does not fill the log. A metric that cannot be read is logged.
func TestMetricsLog(t *testing.T) {
	var log strings.Builder
	tel, err := New(t.Context(), "v1.2.3", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tel.Close(context.Background()) }()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	tel.Handler().ServeHTTP(brokenWriter{httptest.NewRecorder()}, request)
	if log.Len() > 0 {
		t.Errorf("log:\n%s", &log)
	}
	tel.prometheus.MustRegister(brokenCollector{})
	scrape(t, tel)
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "the disk is gone") {
		t.Errorf("%d warnings:\n%s", n, &log)
	}
}

// brokenCollector is a metric that cannot be read.
type brokenCollector struct{}

func (brokenCollector) Describe(chan<- *prometheus.Desc) {}

func (brokenCollector) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.NewInvalidMetric(prometheus.NewDesc("broken", "", nil, nil), errors.New("the disk is gone"))
}

func wantMetrics(t *testing.T, tel *Telemetry, lines ...string) {
	t.Helper()
	text := scrape(t, tel)
	for _, line := range lines {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, grep(text, strings.SplitN(line, "{", 2)[0]))
		}
	}
}

func grep(text, word string) string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func TestEngineInstruments(t *testing.T) {
	tel := newTelemetry(t)
	e := tel.NewEngine()
	e.Compiled(t.Context(), host.CompileEvent{Duration: time.Millisecond})
	e.Evaluated(t.Context(), host.EvaluationEvent{Call: host.Validate, Allowed: true, Bytes: 100, Duration: time.Microsecond})
	e.Evaluated(t.Context(), host.EvaluationEvent{Call: host.Validate, Bytes: 50, Violations: 3, Exact: true})
	e.Evaluated(t.Context(), host.EvaluationEvent{Call: host.Admit, Allowed: true})
	e.Evaluated(t.Context(), host.EvaluationEvent{Call: host.Admit})
	e.Evaluated(t.Context(), host.EvaluationEvent{Call: host.Read})
	e.Evaluated(t.Context(), host.EvaluationEvent{Call: host.Read, Err: errors.New("x")})
	wantMetrics(t, tel,
		`crdeval_evaluation_duration_seconds_count{call="Validate",outcome="allowed"} 1`,
		`crdeval_evaluation_duration_seconds_count{call="Validate",outcome="rejected"} 1`,
		`crdeval_evaluation_duration_seconds_count{call="Admit",outcome="allowed"} 1`,
		`crdeval_evaluation_duration_seconds_count{call="Admit",outcome="rejected"} 1`,
		`crdeval_evaluation_duration_seconds_count{call="Read",outcome="done"} 1`,
		`crdeval_evaluation_duration_seconds_count{call="Read",outcome="error"} 1`,
		`crdeval_evaluation_bytes_total 150`, `crdeval_evaluation_violations_total 3`, `crdeval_evaluation_exact_total 1`,
		`crdeval_compile_duration_seconds_count 1`, `target_info{`, `service_name="crdeval"`, `service_version="v1.2.3"`, `go_goroutines`,
	)
}

func TestFigures(t *testing.T) {
	tel := newTelemetry(t)
	tel.CountRejectedCalls("memory", "other")("memory")
	registered := tel.CountRegistrations()
	registered(registry.SubjectCRD, registry.Created, nil)
	registered(registry.SubjectCRD, "", errors.New("no"))
	registered(registry.SubjectConversion, registry.Updated, nil)
	tel.ObserveReplica(lagging{})
	tel.ObserveDirectories(func() directory.Stats {
		return directory.Stats{Files: 5, Broken: 6, CRDs: 7, LastSuccess: time.Unix(4321, 0)}
	})
	tel.ObserveCache(func() cache.Stats {
		return cache.Stats{Entries: 2, Bytes: 30, MaxBytes: 99, Hits: 5, Misses: 4, Builds: 3, Failures: 1, Evictions: 7, Oversized: 6}
	})
	tel.ObserveRegistry(func() registry.Counts { return registry.Counts{Catalogs: 1, CRDs: 2, Revisions: 3, ManifestBytes: 4} })
	tel.ObserveCertificate(func() time.Time { return time.Unix(1234, 0) })
	wantMetrics(t, tel, "crdeval_cache_entries 2", "crdeval_cache_bytes 30", "crdeval_cache_budget_bytes 99", "crdeval_cache_hits_total 5", "crdeval_cache_misses_total 4",
		"crdeval_cache_builds_total 3", "crdeval_cache_failures_total 1", "crdeval_cache_evictions_total 7", "crdeval_cache_oversized_total 6",
		"crdeval_registry_catalogs 1", "crdeval_registry_crds 2", "crdeval_registry_revisions 3", "crdeval_registry_manifest_bytes 4", "crdeval_tls_certificate_expiry_seconds 1234", "crdeval_calls_rejected_total{reason=\"memory\"} 1",
		"crdeval_registry_following 0", "crdeval_registry_sequence 17", "crdeval_registry_watches 2", "crdeval_directory_files 5", "crdeval_directory_broken 6", "crdeval_directory_crds 7",
		"crdeval_directory_last_success_seconds 4321", `crdeval_registrations_total{outcome="created",subject="crd"} 1`, `crdeval_registrations_total{outcome="error",subject="crd"} 1`,
		`crdeval_registrations_total{outcome="rejected",subject="crd"} 0`, `crdeval_registrations_total{outcome="updated",subject="conversion"} 1`,
		`crdeval_registrations_total{outcome="error",subject="conversion"} 0`)
}

// exportTo configures exports to a collector that a busy machine may delay.
func exportTo(t *testing.T, url string) {
	t.Helper()
	const timeout = "600000" // milliseconds
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_TIMEOUT": timeout,
		"OTEL_METRIC_EXPORT_TIMEOUT": timeout, "OTEL_BSP_EXPORT_TIMEOUT": timeout,
	} {
		t.Setenv(name, value)
	}
}

// TestConcurrentReaders collects from two readers at the same time. The race detector checks that they share nothing.
func TestConcurrentReaders(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(collector.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	exportTo(t, collector.URL)
	tel := newTelemetry(t)
	n := 0
	var mu sync.Mutex
	next := func() int {
		mu.Lock()
		defer mu.Unlock()
		n++
		return n
	}
	tel.ObserveCache(func() cache.Stats { return cache.Stats{Entries: next()} })
	tel.ObserveRegistry(func() registry.Counts { return registry.Counts{CRDs: next()} })
	tel.ObserveDirectories(func() directory.Stats { return directory.Stats{Files: next()} })
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for range 5 {
				scrape(t, tel)
			}
		})
		readers.Go(func() {
			for range 5 {
				if err := tel.Meter.ForceFlush(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
	if calls := next() - 1; calls < 30 {
		t.Errorf("10 scrapes called the 3 functions %d times", calls)
	}
}

func TestEvaluatedAllocatesLittle(t *testing.T) {
	tel := newTelemetry(t)
	e := tel.NewEngine()
	event := host.EvaluationEvent{Call: host.Validate, Allowed: true, Bytes: 100, Duration: time.Microsecond}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { e.Evaluated(ctx, event) }); n > 1 {
		t.Errorf("%v allocations an evaluation", n)
	}
}

// Invented method names and peers must not become time series.
func TestCardinality(t *testing.T) {
	tel := newTelemetry(t)
	const known = "/crdeval.v1.EvaluationService/Validate"
	s := transport.NewServer(transport.ServerOptions{Log: slog.New(slog.DiscardHandler), Stats: tel.ServerHandler(func(m string) bool { return m == known })})
	healthpb.RegisterHealthServer(s, health.NewServer())
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "crdeval.v1.EvaluationService", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Validate",
		Handler: func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
			return &emptypb.Empty{}, nil
		},
	}}}, struct{}{})
	l, err := transport.Listen(t.Context(), "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{known, "/crdeval.v1.EvaluationService/Invented", "/other.Service/Thing", "/grpc.health.v1.Health/Check"} {
		_ = conn.Invoke(t.Context(), method, &emptypb.Empty{}, &emptypb.Empty{})
	}
	_ = conn.Close()
	s.GracefulStop() // waits for what is recorded after the answer
	<-done
	text := grep(scrape(t, tel), "rpc_")
	if !strings.Contains(text, "Validate") {
		t.Errorf("the known method is not there:\n%s", text)
	}
	for _, bad := range []string{"Invented", "other.Service", "grpc.health", "127.0.0.1", "peer"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q became a time series:\n%s", bad, grep(text, bad))
		}
	}
}

// By default nothing leaves the process; with the standard variables it does, and what they get wrong is an error at the start.
func TestExportByEnvironment(t *testing.T) {
	var paths []string
	got := make(chan string, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.URL.Path
	}))
	t.Cleanup(collector.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	exportTo(t, collector.URL)
	tel, err := New(t.Context(), "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tel.StartBuild(t.Context())(errors.New("x"))
	tel.NewEngine().Compiled(t.Context(), host.CompileEvent{})
	if err := tel.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for len(got) > 0 {
		paths = append(paths, <-got)
	}
	if all := strings.Join(paths, " "); !strings.Contains(all, "/v1/traces") || !strings.Contains(all, "/v1/metrics") {
		t.Errorf("exported to %v", paths)
	}
	t.Setenv("OTEL_TRACES_EXPORTER", "nonsense")
	if _, err := New(t.Context(), "", slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("got %v", err)
	}
}

func TestHTTPHandler(t *testing.T) {
	tel := newTelemetry(t)
	h := tel.HTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for _, path := range []string{"/v1/catalogs/secret-tenant/crds", "/metrics", "/healthz"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host = "invented.example.com"
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	text := grep(scrape(t, tel), "http_server_request_duration_seconds_count")
	if !strings.Contains(text, "418") || strings.Contains(text, "secret-tenant") || strings.Contains(text, "invented") || strings.Count(text, "\n") != 1 {
		t.Errorf("metrics:\n%s", text)
	}
}

func BenchmarkEvaluated(b *testing.B) {
	tel, err := New(b.Context(), "", slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	e := tel.NewEngine()
	event := host.EvaluationEvent{Call: host.Validate, Allowed: true, Bytes: 100, Duration: 5 * time.Microsecond}
	b.ReportAllocs()
	for b.Loop() {
		e.Evaluated(b.Context(), event)
	}
}

// lagging is a registry that does not follow its store.
type lagging struct{}

func (lagging) Following() error { return errors.New("no") }
func (lagging) Sequence() uint64 { return 17 }
func (lagging) Watches() int64   { return 2 }
