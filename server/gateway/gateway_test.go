package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a gRPC server that keeps what reaches it.
type recorder struct {
	crdevalv1.UnimplementedRegistryServiceServer
	crdevalv1.UnimplementedEvaluationServiceServer

	mu       sync.Mutex
	metadata metadata.MD
	catalog  string
	manifest *crdevalv1.Document
	err      error
}

func (r *recorder) GetCatalog(ctx context.Context, m *crdevalv1.GetCatalogRequest) (*crdevalv1.GetCatalogResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metadata, _ = metadata.FromIncomingContext(ctx)
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
	r.catalog = m.GetCatalog()
	return &crdevalv1.ValidateResponse{}, r.err
}

// serve starts the gateway in front of a recorder.
func serve(t *testing.T, o Options) (*recorder, *httptest.Server) {
	t.Helper()
	r := &recorder{}
	s := grpc.NewServer()
	crdevalv1.RegisterRegistryServiceServer(s, r)
	crdevalv1.RegisterEvaluationServiceServer(s, r)
	l := Listen()
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	conn, err := Connect(l, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(context.Background(), conn, o)
	if err != nil {
		t.Fatal(err)
	}
	rest := httptest.NewServer(h)
	t.Cleanup(func() {
		rest.Close()
		_ = conn.Close()
		s.Stop()
		<-done
	})
	return r, rest
}

func send(t *testing.T, method, url string, body io.Reader, header http.Header) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		t.Fatal(err)
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

// TestPassedOn: who calls, and on whose trace, reaches the gRPC server; nothing else does.
func TestPassedOn(t *testing.T) {
	r, rest := serve(t, Options{Metadata: func(context.Context, *http.Request) metadata.MD { return metadata.Pairs("crdeval-identity", "cn=me") }})
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	send(t, http.MethodGet, rest.URL+"/v1/catalogs/team-a", nil, http.Header{
		"Authorization": {"Bearer secret"}, "X-Request-Id": {"r1"}, "Traceparent": {trace}, "Crdeval-At-Least": {"token"},
		"Grpc-Metadata-Crdeval-Identity": {"cn=root"}, "Cookie": {"a=b"}, "X-Forwarded-For": {"192.0.2.1"},
	})
	for key, want := range map[string]string{
		"authorization": "Bearer secret", "x-request-id": "r1", "traceparent": trace, "crdeval-at-least": "token", "crdeval-identity": "cn=me",
	} {
		if got := strings.Join(r.metadata.Get(key), ","); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{"cookie", "grpcgateway-cookie", "grpcgateway-accept-encoding"} {
		if got := r.metadata.Get(key); len(got) > 0 {
			t.Errorf("%s was passed on: %q", key, got)
		}
	}
	if r.catalog != "team-a" {
		t.Errorf("catalog %q", r.catalog)
	}
}

// TestBodies: how bodies come in.
func TestBodies(t *testing.T) {
	r, rest := serve(t, Options{MaxBodyBytes: 1000})
	const manifest = `{"kind":"CustomResourceDefinition"}`
	for _, c := range []struct {
		name, media, body string
		chunked           bool
		code              int
		yaml              bool
	}{
		{"json", "application/json", manifest, false, 200, false},
		{"json with charset", "application/json; charset=UTF-8", manifest, false, 200, false},
		{"another charset", "application/json; charset=latin1", manifest, false, 415, false},
		{"what curl -d says", "application/x-www-form-urlencoded", manifest, false, 200, false},
		{"unsaid", "", manifest, false, 200, false},
		{"merge patch", "application/merge-patch+json", manifest, false, 200, false},
		{"yaml", "application/yaml", "kind: CustomResourceDefinition", false, 200, true},
		{"old yaml", "text/yaml", "kind: CustomResourceDefinition", false, 200, true},
		{"binary", "application/octet-stream", manifest, false, 415, false},
		{"nonsense", "///", manifest, false, 415, false},
		{"chunked", "application/json", manifest, true, 200, false},
		{"chunked and large", "application/json", `"` + strings.Repeat("x", 1000) + `"`, true, 413, false},
		{"large", "application/json", `"` + strings.Repeat("x", 1000) + `"`, false, 413, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.manifest = nil
			var body io.Reader = strings.NewReader(c.body)
			if c.chunked {
				body = io.MultiReader(body) // a reader whose length nobody knows
			}
			header := http.Header{}
			if c.media != "" {
				header.Set("Content-Type", c.media)
			}
			code, text, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default/crds", body, header)
			if code != c.code {
				t.Fatalf("HTTP %d %s, want %d", code, text, c.code)
			}
			if code != http.StatusOK {
				return
			}
			got := r.manifest.GetJson()
			if c.yaml {
				got = r.manifest.GetYaml()
			}
			if string(got) != c.body {
				t.Errorf("the manifest became %v", r.manifest)
			}
		})
	}
	var compressed bytes.Buffer
	code, _, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default/crds", &compressed, http.Header{"Content-Encoding": {"gzip"}})
	if code != http.StatusUnsupportedMediaType {
		t.Errorf("gzip: HTTP %d", code)
	}
}

// TestPathWins: the catalog of the path is the one that counts.
func TestPathWins(t *testing.T) {
	r, rest := serve(t, Options{})
	send(t, http.MethodPost, rest.URL+"/v1/catalogs/team-a:validate", strings.NewReader(`{"catalog":"team-b"}`), nil)
	if r.catalog != "team-a" {
		t.Errorf("the call reached the catalog %q", r.catalog)
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
		got, text, _ := send(t, http.MethodGet, rest.URL+"/v1/catalogs/x", nil, nil)
		if got != want.http || !strings.Contains(text, `"message":"text"`) || !strings.Contains(text, `"reason":"`+want.reason+`"`) {
			t.Errorf("%s: HTTP %d %s, want %d %s", code, got, text, want.http, want.reason)
		}
	}
}
