package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const crontabs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer, maximum: 10}
`

// synced is a log that goroutines may share.
type synced struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *synced) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *synced) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// running is a server under test.
type running struct {
	*App
	log  *synced
	stop func() error // ends it and returns what Run returned
}

// start runs a server on free ports with a configuration's flags.
func start(t *testing.T, flags ...string) *running {
	t.Helper()
	given := strings.Join(flags, " ")
	for _, flag := range []string{"--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--store=memory", "--drain-timeout=1m"} {
		if name, _, _ := strings.Cut(flag, "="); !strings.Contains(given, name) {
			flags = append(flags, flag)
		}
	}
	c, err := Defaults(flags...)
	if err != nil {
		t.Fatal(err)
	}
	log := &synced{}
	a, err := Start(t.Context(), c, Build{Version: "v0.0.0-test"}, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: c.LogLevel})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	r := &running{App: a, log: log, stop: sync.OnceValue(func() error { cancel(); return <-done })}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *running) conn(t *testing.T) *grpc.ClientConn {
	t.Helper()
	address := r.GRPCAddresses()[0]
	target := address.String()
	if address.Network() == "unix" {
		target = "unix://" + target
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// fetch returns status and body of a REST call.
func fetch(t *testing.T, address net.Addr, method, path, contentType, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+address.String()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(content)
}

func TestServer(t *testing.T) {
	r := start(t)
	r.ready(t)
	rest := r.HTTPAddresses()[0]
	code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", crontabs)
	var registered struct {
		Accepted bool
		Token    string
	}
	if err := json.Unmarshal([]byte(body), &registered); err != nil || code != http.StatusOK || !registered.Accepted || registered.Token == "" {
		t.Fatalf("%d %s", code, body)
	}
	code, body = fetch(t, rest, http.MethodPost, "/v1/catalogs/default:validate", "application/json", `{"context": {"options": {"atLeast": ""}}, "items": [
		{"create": {"object": {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}, "spec": {"replicas": 10}}}},
		{"create": {"object": {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}, "spec": {"replicas": 11}}}}]}`)
	if code != http.StatusBadRequest { // atLeast is a field of the context
		t.Errorf("%d %s", code, body)
	}
	conn := r.conn(t)
	answer, err := crdevalv1.NewEvaluationServiceClient(conn).Validate(t.Context(), &crdevalv1.ValidateRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: "default", AtLeast: registered.Token},
		Items: []*crdevalv1.WriteItem{
			{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: []byte(`{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}, "spec": {"replicas": 10}}`)}}}}},
			{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a, namespace: b}\nspec: {replicas: 11}\n"}}}}},
			{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: []byte(`{"apiVersion": "other.example.com/v1", "kind": "CronTab"}`)}}}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res := answer.GetResults(); !res[0].GetVerdict().GetAllowed() || res[1].GetVerdict().GetAllowed() || res[1].GetVerdict() == nil || res[2].GetError().GetCode() != int32(codes.NotFound) {
		t.Errorf("%v", answer)
	}
	if got, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", got, err)
	}
	for path, want := range map[string]string{
		"/healthz": "SERVING", "/readyz": "SERVING", "/openapi.json": "crdeval", "/v1/serverInfo": "v0.0.0-test",
		"/metrics": `crdeval_evaluation_duration_seconds_count{call="Validate",outcome="allowed"} 1`,
	} {
		if code, body := fetch(t, rest, http.MethodGet, path, "", ""); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.300s", path, code, body)
		}
	}
	if _, metrics := fetch(t, rest, http.MethodGet, "/metrics", "", ""); !strings.Contains(metrics, `crdeval_items_failed_total{reason="CRD_NOT_FOUND"} 1`) {
		t.Error("the item of an unknown kind is not among the metrics")
	}
	operations, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, metrics := fetch(t, rest, http.MethodGet, "/metrics", "", "")
	for _, m := range regexp.MustCompile(`(?m)^# TYPE ((?:crdeval|rpc|http)_\w+)`).FindAllStringSubmatch(metrics, -1) {
		if !strings.Contains(string(operations), "`"+m[1]+"`") {
			t.Errorf("docs/operations.md does not explain %s", m[1])
		}
	}
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	if services, err := stream.Recv(); err != nil || !strings.Contains(services.String(), "crdeval.v1.EvaluationService") {
		t.Errorf("reflection: %v, %v", services, err)
	}
	_ = stream.CloseSend()
	_, _ = stream.Recv()
}

func TestRegistrationsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	flags := []string{"--store=bolt", "--data-dir=" + dir}
	first := start(t, flags...)
	if code, body := fetch(t, first.HTTPAddresses()[0], http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", crontabs); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	c, err := Defaults(append(flags, "--grpc-address=127.0.0.1:0", "--http-address=off")...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), c, Build{}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a second server on the directory: %v", err)
	}
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, flags...)
	if code, body := fetch(t, second.HTTPAddresses()[0], http.MethodPost, "/v1/catalogs/default:validate", "application/json",
		`{"items": [{"create": {"object": {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}}}}]}`); code != http.StatusOK || !strings.Contains(body, `"allowed":true`) {
		t.Errorf("%d %s", code, body)
	}
}

func TestUnixSocketsAndAMetricsAddress(t *testing.T) {
	dir := t.TempDir()
	r := start(t, "--grpc-address=unix://"+dir+"/grpc.sock", "--http-address=unix://"+dir+"/http.sock", "--metrics-address=127.0.0.1:0")
	if _, err := crdevalv1.NewServerServiceClient(r.conn(t)).GetServerInfo(t.Context(), &crdevalv1.GetServerInfoRequest{}); err != nil {
		t.Error(err)
	}
	operations := r.HTTPAddresses()[1]
	for path, want := range map[string]string{"/healthz": "SERVING", "/readyz": "SERVING", "/metrics": "crdeval_cache_budget_bytes"} {
		callUntil(t, func() (int, string) { return fetch(t, operations, http.MethodGet, path, "", "") }, http.StatusOK, want) // it answers before it is ready
	}
	if code, _ := fetch(t, operations, http.MethodGet, "/v1/serverInfo", "", ""); code != http.StatusNotFound {
		t.Errorf("the API is at the metrics address: %d", code)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", dir+"/http.sock")
	}}}
	for path, want := range map[string]int{"/v1/serverInfo": http.StatusOK, "/metrics": http.StatusNotFound} {
		resp, err := client.Get("http://crdeval" + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(dir + "/*.sock"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTokensOverREST(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, "--auth-token-file="+path)
	r.ready(t)
	rest := r.HTTPAddresses()[0]
	if code, body := fetch(t, rest, http.MethodGet, "/v1/serverInfo", "", ""); code != http.StatusUnauthorized || !strings.Contains(body, "UNAUTHENTICATED") {
		t.Errorf("%d %s", code, body)
	}
	// Before its body: what is in it does not matter.
	if code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default/crds", "application/json", "{"); code != http.StatusUnauthorized || !strings.Contains(body, "UNAUTHENTICATED") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := fetch(t, rest, http.MethodGet, "/v1/serverInfo", "", "", "Authorization", "Bearer s3cret"); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := fetch(t, rest, http.MethodGet, "/readyz", "", ""); code != http.StatusOK {
		t.Errorf("a probe got %d", code)
	}
	if strings.Contains(r.log.String(), "s3cret") {
		t.Error("the log has the token")
	}
}

// The default limit of gRPC, 4 MiB, does not apply. Messages beyond the configured limit are errors over gRPC and REST.
func TestLargeMessages(t *testing.T) {
	r := start(t, "--max-message-bytes=8MiB")
	rest := r.HTTPAddresses()[0]
	if code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", crontabs); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	object := `{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}` + strings.Repeat(" ", 1<<20) + `}`
	for _, tc := range []struct {
		items int
		ok    bool
	}{{6, true}, {9, false}} {
		batch := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}
		var inline []string
		for range tc.items {
			batch.Items = append(batch.Items, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: []byte(object)}}}}})
			inline = append(inline, `{"create": {"object": `+object+`}}`)
		}
		answer, err := crdevalv1.NewEvaluationServiceClient(r.conn(t)).Validate(t.Context(), batch)
		if tc.ok && (err != nil || !answer.GetResults()[5].GetVerdict().GetAllowed()) || !tc.ok && status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%d items over gRPC: %v", tc.items, err)
		}
		code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default:validate", "application/json", `{"items": [`+strings.Join(inline, ",")+`]}`)
		if tc.ok && code != http.StatusOK || !tc.ok && (code != http.StatusRequestEntityTooLarge || !strings.Contains(body, "LIMIT_EXCEEDED")) {
			t.Errorf("%d items over REST: %d %.300s", tc.items, code, body)
		}
	}
}

// Whatever fails at the start, everything before it is closed again (goleak looks), and the error says what to do.
func TestStartFailures(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		flags []string
		want  string
	}{
		"a taken port":                  {[]string{"--http-address=" + taken.Addr().String()}, "address already in use"},
		"a taken metrics port":          {[]string{"--metrics-address=" + taken.Addr().String()}, "address already in use"},
		"a file instead of a directory": {[]string{"--store=bolt", "--data-dir=" + file}, "not a directory"},
		"no certificate":                {[]string{"--tls-cert=/missing", "--tls-key=/missing"}, "/missing"},
		"no tokens":                     {[]string{"--auth-token-file=/missing"}, "/missing"},
		"an invalid configuration":      {[]string{"--max-batch-items=0"}, "--max-batch-items"},
	} {
		c, _ := Defaults(append([]string{"--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--store=memory"}, tc.flags...)...)
		if _, err := Start(t.Context(), c, Build{}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
