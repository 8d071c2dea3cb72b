package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/crdeval/crdeval/server/registry/etcd/etcdtest"
)

// What one replica registers the other one knows; while etcd is away both evaluate what they know, are ready and say what does not work, and registrations fail
// with a reason; when it is back so is everything.
func TestReplicasAndAPartition(t *testing.T) {
	etcd := etcdtest.Start(t)
	flags := []string{"--store=etcd", "--etcd-endpoints=" + etcd.Endpoint, "--etcd-prefix=/test/app"}
	a, b := start(t, flags...), start(t, flags...)
	a.ready(t)
	b.ready(t)
	code, body := fetch(t, a.HTTPAddresses()[0], http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", crontabs)
	var registered struct{ Token string }
	if err := json.Unmarshal([]byte(body), &registered); err != nil || code != http.StatusOK || registered.Token == "" {
		t.Fatalf("%d %s", code, body)
	}
	const item = `{"context": {"atLeast": "TOKEN"}, "items": [{"create": {"object": {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}, "spec": {"replicas": 10}}}}]}`
	validate := func(r *running, token string) (int, string) {
		return fetch(t, r.HTTPAddresses()[0], http.MethodPost, "/v1/catalogs/default:validate", "application/json", strings.Replace(item, "TOKEN", token, 1))
	}
	callUntil(t, func() (int, string) { return validate(b, registered.Token) }, http.StatusOK, `"allowed":true`)

	etcd.Stop()
	for _, r := range []*running{a, b} {
		r.fetchUntil(t, "/readyz", http.StatusOK, `"trouble":"the registry does not follow its store`)
		r.fetchUntil(t, "/metrics", http.StatusOK, "crdeval_registry_following 0\n")
		if code, body := validate(r, ""); code != http.StatusOK || !strings.Contains(body, `"allowed":true`) {
			t.Errorf("evaluation in a partition: %d %s", code, body)
		}
		health := healthv1.NewHealthClient(r.conn(t))
		for service, want := range map[string]healthv1.HealthCheckResponse_ServingStatus{
			"": healthv1.HealthCheckResponse_SERVING, "crdeval.v1.EvaluationService": healthv1.HealthCheckResponse_SERVING,
			"crdeval.v1.RegistryService": healthv1.HealthCheckResponse_NOT_SERVING,
		} {
			eventually(t, func() error {
				got, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
				if got.GetStatus() != want {
					return fmt.Errorf("%q: %v, want %v: %w", service, got, want, err)
				}
				return nil
			})
		}
	}
	changed := strings.Replace(crontabs, "maximum: 10", "maximum: 9", 1)
	code, body = fetch(t, a.HTTPAddresses()[0], http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", changed)
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "STORE_UNAVAILABLE") {
		t.Errorf("a registration in a partition: %d %s", code, body)
	}

	etcd.Start()
	for _, r := range []*running{a, b} {
		r.fetchUntil(t, "/readyz", http.StatusOK, `{"status":"SERVING"}`)
	}
	r := callUntil(t, func() (int, string) {
		return fetch(t, b.HTTPAddresses()[0], http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", changed)
	}, http.StatusOK, `"token":"`)
	_, token, _ := strings.Cut(r, `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	callUntil(t, func() (int, string) { return validate(a, token) }, http.StatusOK, `"allowed":false`)
}

// fetchUntil waits until a page has a status and contains a text.
func (r *running) fetchUntil(t *testing.T, path string, code int, text string) {
	t.Helper()
	callUntil(t, func() (int, string) { return fetch(t, r.HTTPAddresses()[0], http.MethodGet, path, "", "") }, code, text)
}

// callUntil waits until a call returns a status and a body that contains a text.
func callUntil(t *testing.T, call func() (int, string), code int, text string) (body string) {
	t.Helper()
	eventually(t, func() error {
		var got int
		if got, body = call(); got != code || !strings.Contains(body, text) {
			return fmt.Errorf("%d %.2000s\nwant %d and %s", got, body, code, text)
		}
		return nil
	})
	return body
}
