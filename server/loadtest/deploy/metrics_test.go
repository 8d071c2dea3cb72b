package deploy

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/app"
	"github.com/crdeval/crdeval/server/conversion"
	"github.com/crdeval/crdeval/server/registry/directory"
	"github.com/crdeval/crdeval/server/telemetry"
	"github.com/crdeval/crdeval/server/webhook"
)

// expression is what .tools/promql prints.
type expression struct {
	Name, Text string
	Selectors  []struct {
		Metric string
		Labels []string
	}
	Grouping []string
}

// TestDashboardAndAlerts parses all expressions as Prometheus does, and looks for their metrics and labels in /metrics.
func TestDashboardAndAlerts(t *testing.T) {
	testenv.E2E(t)
	parse := exec.CommandContext(t.Context(), "go", "run", ".", "../../deploy/prometheus/alerts.yaml", "../../deploy/grafana/crdeval.json")
	parse.Dir = "../../../.tools/promql"
	parse.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath")
	parse.Stderr = os.Stderr
	out, err := parse.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []expression
	if err := json.Unmarshal(out, &all); err != nil || len(all) < 40 {
		t.Fatalf("%d expressions, %v", len(all), err)
	}
	series := parseMetrics(scrapeServer(t) + scrapeEvents(t))
	targets := []string{"job", "instance"} // added by Prometheus
	for _, e := range all {
		known := slices.Clone(targets)
		for _, s := range e.Selectors {
			labels, found := series[s.Metric]
			if !found {
				t.Errorf("%s: /metrics has no %s", e.Name, s.Metric)
			}
			known = append(known, labels...)
			for _, label := range s.Labels {
				if !slices.Contains(labels, label) && !slices.Contains(targets, label) {
					t.Errorf("%s: %s has the labels %v, but not %s", e.Name, s.Metric, labels, label)
				}
			}
		}
		for _, label := range e.Grouping {
			if !slices.Contains(known, label) {
				t.Errorf("%s: no metric has the label %s: %s", e.Name, label, e.Text)
			}
		}
	}
}

// parseMetrics returns the labels of each metric.
func parseMetrics(text string) map[string][]string {
	label := regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)
	series := map[string][]string{}
	for _, line := range regexp.MustCompile(`(?m)^([a-z_:]+)(?:\{(.*)\})? `).FindAllStringSubmatch(text, -1) {
		series[line[1]] = append(series[line[1]], []string{}...)
		for _, l := range label.FindAllStringSubmatch(line[2], -1) {
			if !slices.Contains(series[line[1]], l[1]) {
				series[line[1]] = append(series[line[1]], l[1])
			}
		}
	}
	return series
}

// scrapeServer returns the metrics of a server after a successful and a failed call.
func scrapeServer(t *testing.T) string {
	t.Helper()
	crds := t.TempDir()
	sample := readFile(t, "samples/crds/crontabs.yaml")
	if err := os.WriteFile(filepath.Join(crds, "crontabs.yaml"), sample, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := app.Defaults("--store=memory", "--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--crds="+crds,
		"--audit-log="+filepath.Join(t.TempDir(), "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := app.Start(t.Context(), config, app.Build{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		if stop(); <-done != nil {
			t.Error("the server did not end")
		}
	})
	call := func(method, path, body string) string {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+server.HTTPAddresses()[0].String()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	call(http.MethodPost, "/v1/catalogs/default:validate", `{"items": [{"create": {"object": {"apiVersion": "a/v1", "kind": "None"}}}]}`)
	call(http.MethodPost, "/v1/catalogs/none:validate", `{"items": []}`)
	return call(http.MethodGet, "/metrics", "")
}

// scrapeEvents returns metrics that exist after rare events only.
func scrapeEvents(t *testing.T) string {
	t.Helper()
	tel, err := telemetry.New(t.Context(), "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Close(context.Background()) })
	_, end := tel.ObserveConversions()(t.Context(), conversion.Call{Host: "a:443"})
	end(conversion.Converted, nil)
	tel.ObserveReviewedObjects()(t.Context(), webhook.Observation{CRD: "a", Objects: 1})
	observer := tel.NewEngine()
	observer.Compiled(t.Context(), host.CompileEvent{})
	observer.Evaluated(t.Context(), host.EvaluationEvent{Call: host.Validate})
	tel.ObserveCertificate(time.Now)
	tel.ObserveDirectories(func() directory.Stats { return directory.Stats{} })
	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return w.Body.String()
}
