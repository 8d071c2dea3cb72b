package gateway

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport/inprocess"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a gRPC server that keeps what reaches it.
type recorder struct {
	crdevalv1.UnimplementedRegistryServiceServer
	crdevalv1.UnimplementedEvaluationServiceServer

	mu          sync.Mutex
	metadata    metadata.MD
	catalog     string
	peer        string
	requestID   string
	credentials access.Credentials
	manifest    *crdevalv1.Document
	err         error
}

func (r *recorder) GetCatalog(ctx context.Context, m *crdevalv1.GetCatalogRequest) (*crdevalv1.GetCatalogResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metadata, _ = metadata.FromIncomingContext(ctx)
	r.requestID, r.credentials = call.Of(ctx).RequestID, call.Of(ctx).Credentials
	if p, ok := peer.FromContext(ctx); ok {
		r.peer = p.Addr.String()
	}
	r.catalog = m.GetCatalog()
	return &crdevalv1.GetCatalogResponse{Catalog: &crdevalv1.Catalog{Name: m.GetCatalog()}}, r.err
}

func (r *recorder) RegisterCrd(_ context.Context, m *crdevalv1.RegisterCrdRequest) (*crdevalv1.RegisterCrdResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catalog, r.manifest = m.GetCatalog(), m.GetManifest()
	return &crdevalv1.RegisterCrdResponse{}, r.err
}

func (r *recorder) Validate(_ context.Context, m *crdevalv1.ValidateRequest) (*crdevalv1.ValidateResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catalog = m.GetContext().GetCatalog()
	return &crdevalv1.ValidateResponse{}, r.err
}

// serve starts the gateway in front of a recorder.
func serve(t *testing.T, o Options) (*recorder, *httptest.Server) {
	t.Helper()
	r := &recorder{}
	conn := inprocess.New(inprocess.Options{})
	crdevalv1.RegisterRegistryServiceServer(conn, r)
	crdevalv1.RegisterEvaluationServiceServer(conn, r)
	h, err := New(context.Background(), conn, o)
	if err != nil {
		t.Fatal(err)
	}
	rest := httptest.NewServer(h)
	t.Cleanup(func() {
		rest.Close()
		conn.Stop()
	})
	return r, rest
}

func send(t *testing.T, method, url string, body io.Reader, header http.Header) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		r.Header[k] = v
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

// TestPassedOn checks what handlers get of a request: the credentials, the request id and the client's address, and nothing else.
func TestPassedOn(t *testing.T) {
	r, rest := serve(t, Options{})
	send(t, http.MethodGet, rest.URL+"/v1/catalogs/team-a", nil, http.Header{
		"Authorization": {"Bearer secret"}, "X-Request-Id": {"r1"},
		"Grpc-Metadata-Crdeval-Identity": {"cn=root"}, "Cookie": {"a=b"}, "X-Forwarded-For": {"192.0.2.1"},
	})
	if got := strings.Join(r.credentials.Authorization, ","); got != "Bearer secret" {
		t.Errorf("authorization: %q", got)
	}
	if r.requestID != "r1" {
		t.Errorf("request ID %q", r.requestID)
	}
	if !strings.HasPrefix(r.peer, "127.0.0.1:") {
		t.Errorf("peer %q", r.peer)
	}
	if len(r.metadata) > 0 {
		t.Errorf("metadata: %v", r.metadata)
	}
	if r.catalog != "team-a" {
		t.Errorf("catalog %q", r.catalog)
	}
}

// TestOddPaths: paths that are not in their plain form are errors in JSON, not redirects.
func TestOddPaths(t *testing.T) {
	_, rest := serve(t, Options{Pages: map[string]http.Handler{"/metrics": http.NotFoundHandler()}})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	for path, want := range map[string]int{
		"/v1/catalogs//crds": 404, "//v1/serverInfo": 404, "/v1/../v1/serverInfo": 404, "/v1/catalogs/": 404, "/v1/serverInfo/": 404, "/metrics": 405,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, rest.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Path = path
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want || resp.Header.Get("Content-Type") != "application/json" || !bytes.HasPrefix(text, []byte(`{"code":`)) {
			t.Errorf("%s: HTTP %d %s", path, resp.StatusCode, text)
		}
	}
}

// TestHead: HEAD has the status and the headers of GET, without a body, on paths that are not calls.
func TestHead(t *testing.T) {
	_, rest := serve(t, Options{Pages: map[string]http.Handler{"/metrics": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "up 1")
	})}})
	for _, path := range []string{
		"/healthz", "/readyz", "/openapi.json", "/openapi/v3.json", "/metrics",
	} {
		code, text, header := send(t, http.MethodGet, rest.URL+path, nil, http.Header{"X-Request-Id": {"r"}})
		headCode, headText, headHeader := send(t, http.MethodHead, rest.URL+path, nil, http.Header{"X-Request-Id": {"r"}})
		header.Del("Date")
		headHeader.Del("Date")
		if headCode != code || headText != "" || !maps.EqualFunc(headHeader, header, slices.Equal) || headHeader.Get("Content-Length") != strconv.Itoa(len(text)) {
			t.Errorf("%s: HTTP %d %v, but HEAD: HTTP %d %v %q", path, code, header, headCode, headHeader, headText)
		}
	}
}

// TestQueryGivenTwice: under both of its names a parameter is given twice.
func TestQueryGivenTwice(t *testing.T) {
	_, rest := serve(t, Options{})
	code, text, _ := send(t, http.MethodGet, rest.URL+"/v1/catalogs?pageSize=1&page_size=2", nil, nil)
	if code != http.StatusBadRequest || !strings.Contains(text, `the query parameter \"page_size\" is given twice, also as \"pageSize\"`) {
		t.Errorf("HTTP %d %s", code, text)
	}
}

// TestForeignErrors: statuses that gRPC or a proxy makes get a reason too, and every code its HTTP status.
func TestForeignErrors(t *testing.T) {
	r, rest := serve(t, Options{})
	for code, want := range map[codes.Code]struct {
		http   int
		reason string
	}{
		codes.InvalidArgument:   {400, "INVALID_ARGUMENT"},
		codes.ResourceExhausted: {413, "LIMIT_EXCEEDED"},
		codes.DeadlineExceeded:  {504, "DEADLINE"},
		codes.Canceled:          {499, "CANCELLED"},
		codes.Unavailable:       {503, "OVERLOADED"},
		codes.Unauthenticated:   {401, "UNAUTHENTICATED"},
		codes.PermissionDenied:  {403, "PERMISSION_DENIED"},
		codes.Unknown:           {500, "INTERNAL"},
	} {
		r.mu.Lock()
		r.err = status.Error(code, "text")
		r.mu.Unlock()
		got, text, header := send(t, http.MethodGet, rest.URL+"/v1/catalogs/x", nil, nil)
		if overloaded := code == codes.Unavailable; overloaded != (header.Get("Retry-After") != "") || overloaded != strings.Contains(text, `"retryDelay":"`) {
			t.Errorf("%s: Retry-After %q, %s", code, header.Get("Retry-After"), text)
		}
		message := "text"
		if code == codes.DeadlineExceeded {
			message = "the deadline of the call passed before the response"
		}
		if got != want.http || !strings.Contains(text, `"message":"`+message+`"`) || !strings.Contains(text, `"reason":"`+want.reason+`"`) {
			t.Errorf("%s: HTTP %d %s, want %d %s", code, got, text, want.http, want.reason)
		}
	}
}

// TestReady: /readyz reports the health of the server, and that the registry's service is not serving although it is.
func TestReady(t *testing.T) {
	const registry = "crdeval.v1.RegistryService"
	state := health.NewServer()
	conn := inprocess.New(inprocess.Options{})
	healthv1.RegisterHealthServer(conn, state)
	defer conn.Stop()
	h, err := New(t.Context(), conn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rest := httptest.NewServer(h)
	defer rest.Close()
	const serving, not = healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING
	for _, c := range []struct {
		server, registry healthv1.HealthCheckResponse_ServingStatus
		code             int
		trouble          bool
	}{
		{serving, serving, http.StatusOK, false},
		{serving, not, http.StatusOK, true},
		{not, not, http.StatusServiceUnavailable, false},
	} {
		state.SetServingStatus("", c.server)
		state.SetServingStatus(registry, c.registry)
		code, text, _ := send(t, http.MethodGet, rest.URL+"/readyz", nil, nil)
		if code != c.code || !strings.Contains(text, `"status":"`+c.server.String()) || strings.Contains(text, `"trouble":"the registry`) != c.trouble {
			t.Errorf("%v, %v: HTTP %d %s", c.server, c.registry, code, text)
		}
	}
}
