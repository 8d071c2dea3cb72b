package crdeval_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/app"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// crontabs is the CRD of these tests. It has a maximum for replicas.
const crontabs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {replicas: {type: integer, maximum: MAXIMUM}}}}
`

func manifest(maximum int) []byte {
	return []byte(strings.ReplaceAll(crontabs, "MAXIMUM", fmt.Sprint(maximum)))
}

// object returns a CronTab: JSON for an even number, YAML for an odd one.
func object(replicas int) []byte {
	text := fmt.Sprintf(`{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}, "spec": {"replicas": %d}}`, replicas)
	if replicas%2 == 1 {
		text = "# YAML\n" + text
	}
	return []byte(text)
}

// serve runs a server on a free port until the test ends, and returns its address.
func serve(t *testing.T, flags ...string) string {
	t.Helper()
	c, err := app.Defaults(append([]string{"--grpc-address=127.0.0.1:0", "--http-address=off", "--store=memory"}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.Start(t.Context(), c, app.Build{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return a.GRPCAddresses()[0].String()
}

// calls records the requests of a client.
type calls struct {
	mu   sync.Mutex
	sent []string // "Validate 3 TOKEN"
}

func (c *calls) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	c.mu.Lock()
	line := filepath.Base(method)
	switch r := req.(type) {
	case *crdevalv1.ValidateRequest:
		line = fmt.Sprintf("%s %d %s", line, len(r.GetItems()), r.GetContext().GetAtLeast())
	case *crdevalv1.CheckCrdRequest:
		line += " " + r.GetAtLeast()
	}
	c.sent = append(c.sent, line)
	c.mu.Unlock()
	return invoke(ctx, method, req, reply, conn, opts...)
}

// take returns the requests since the last call of take.
func (c *calls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := c.sent
	c.sent = nil
	return sent
}

func dial(t *testing.T, target string, options ...crdeval.Option) (*crdeval.Client, *calls) {
	t.Helper()
	sent := &calls{}
	c, err := crdeval.Dial(target, append(options, crdeval.WithDialOptions(grpc.WithChainUnaryInterceptor(sent.intercept)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, sent
}

// TestTokens checks that calls carry the token of the latest write, or the one that AtLeast set.
func TestTokens(t *testing.T) {
	c, sent := dial(t, serve(t))
	ctx := t.Context()
	if _, err := c.CheckCRD(ctx, manifest(5)); err != nil {
		t.Fatal(err)
	}
	r, err := c.RegisterCRD(ctx, manifest(5))
	if err != nil || r.GetToken() == "" || r.GetCrd().GetName() != "crontabs.stable.example.com" {
		t.Fatalf("%v, %v", r, err)
	}
	second, err := c.RegisterCRD(ctx, manifest(7))
	if err != nil || second.GetToken() == r.GetToken() {
		t.Fatalf("%v, %v", second, err)
	}
	if _, err := c.CheckCRD(ctx, manifest(7)); err != nil {
		t.Fatal(err)
	}
	results, err := c.Validate(ctx, object(6)) // a single object needs no limits of the server
	if err != nil || len(results) != 1 || !results[0].Allowed() {
		t.Fatalf("%v, %v", results, err)
	}
	results, err = c.Validate(ctx, object(6), object(9))
	if err != nil || len(results) != 2 || !results[0].Allowed() || results[1].Allowed() || results[1].Err != nil {
		t.Fatalf("%v, %v", results, err)
	}
	c.AtLeast(r.GetToken())
	if _, err := c.ValidateItems(ctx, []*crdevalv1.WriteItem{crdeval.Create(object(1))}, nil); err != nil {
		t.Fatal(err)
	}
	strict := &crdevalv1.EvaluationOptions{FieldValidation: crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT}
	unknown := []byte(`{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}, "spec": {"no": 1}}`)
	results, err = c.ValidateItems(ctx, []*crdevalv1.WriteItem{crdeval.Create(unknown)}, strict)
	if err != nil || results[0].Allowed() {
		t.Errorf("the options did not arrive: %v, %v, %v", results, err, strict)
	}
	if err := c.DeleteCRD(ctx, "crontabs.stable.example.com"); err != nil {
		t.Fatal(err)
	}
	results, err = c.Validate(ctx, object(2))
	if err != nil || status.Code(results[0].Err) != codes.NotFound || results[0].Verdict != nil || results[0].Allowed() {
		t.Errorf("without its CRD: %v, %v", results, err)
	}
	got := sent.take()
	want := []string{
		"CheckCrd ", "RegisterCrd", "RegisterCrd", "CheckCrd " + second.GetToken(), "Validate 1 " + second.GetToken(), "GetServerInfo", "Validate 2 " + second.GetToken(), "Validate 1 " + r.GetToken(),
		"Validate 1 " + r.GetToken(), "DeleteCrd",
	}
	if len(got) != len(want)+1 || !slices.Equal(got[:len(want)], want) || got[len(want)] == "Validate 1 "+r.GetToken() {
		t.Errorf("sent\n%s\nwant\n%s\nand one more with the deletion's token", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRejectedCRD checks that a rejected CRD is a *RejectedError with the reasons. Later calls do not wait for it.
func TestRejectedCRD(t *testing.T) {
	c, _ := dial(t, serve(t))
	bad := []byte(strings.ReplaceAll(crontabs, "maximum: MAXIMUM", "maximum: 1, default: 2"))
	r, err := c.RegisterCRD(t.Context(), bad)
	var rejected *crdeval.RejectedError
	if !errors.As(err, &rejected) || len(rejected.Report.GetViolations()) == 0 || r.GetAccepted() {
		t.Fatalf("%v, %v", r, err)
	}
	for _, v := range rejected.Report.GetViolations() {
		if !strings.Contains(err.Error(), v.GetField()+": "+v.GetMessage()) {
			t.Errorf("%q is not in %q", v.GetMessage(), err)
		}
	}
	undecodable := []byte(strings.ReplaceAll(string(manifest(1)), "served: true", "served: 1"))
	if _, err := c.RegisterCRD(t.Context(), undecodable); !errors.As(err, &rejected) || !strings.Contains(err.Error(), "served") {
		t.Errorf("a rejection without violations: %v", err)
	}
	checked, err := c.CheckCRD(t.Context(), bad)
	if err != nil || checked.GetAccepted() || len(checked.GetReport().GetViolations()) == 0 {
		t.Errorf("%v, %v", checked, err)
	}
	if _, err := c.RegisterCRD(t.Context(), []byte("kind: Pod\napiVersion: v1\n")); err == nil || errors.As(err, new(*crdeval.RejectedError)) || status.Code(err) != codes.InvalidArgument {
		t.Errorf("not a CRD: %v", err)
	}
	if err := c.DeleteCRD(t.Context(), "nothing.example.com"); status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "nothing.example.com") {
		t.Errorf("%v", err)
	}
}

// TestBatches checks that many items are sent in several calls, with results in order.
func TestBatches(t *testing.T) {
	for _, tc := range []struct {
		name    string
		flags   []string
		padding int // of an object, in bytes
		inline  int // size of an inline CRD; 0: none
		want    []int
	}{
		{"items", []string{"--max-batch-items=3"}, 0, 0, []int{3, 3, 1}},
		{"bytes", []string{"--max-message-bytes=32KiB", "--max-document-bytes=16KiB"}, 5 << 10, 0, []int{3, 3, 1}},
		{"bytes with an inline CRD", []string{"--max-message-bytes=32KiB", "--max-document-bytes=16KiB"}, 5 << 10, 4 << 10, []int{2, 2, 2, 1}},
		{"one is too large for half a message", []string{"--max-message-bytes=32KiB", "--max-document-bytes=24KiB"}, 20 << 10, 0, []int{1, 1, 1, 1, 1, 1, 1}},
		{"all in one", nil, 0, 0, []int{7}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, sent := dial(t, serve(t, tc.flags...))
			if _, err := c.RegisterCRD(t.Context(), manifest(3)); err != nil {
				t.Fatal(err)
			}
			if tc.inline > 0 {
				c = c.With(named("a", strings.Repeat("x", tc.inline)))
			}
			var objects [][]byte
			for i := range 7 {
				objects = append(objects, append(object(i), strings.Repeat(" ", tc.padding)...))
			}
			results, err := c.Validate(t.Context(), objects...)
			if err != nil || len(results) != 7 {
				t.Fatalf("%d results, %v", len(results), err)
			}
			for i, r := range results {
				if r.Err != nil || r.Allowed() != (i <= 3) {
					t.Errorf("%d: %v", i, r)
				}
			}
			var got []int
			for _, line := range sent.take() {
				var n int
				if _, err := fmt.Sscanf(line, "Validate %d", &n); err == nil {
					got = append(got, n)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("batches of %d, want %d", got, tc.want)
			}
		})
	}
}

func TestNoObjects(t *testing.T) {
	c, _ := dial(t, serve(t))
	if results, err := c.Validate(t.Context()); err != nil || len(results) != 0 {
		t.Errorf("%v, %v", results, err)
	}
}

// TestCatalog checks that a client only uses its own catalog.
func TestCatalog(t *testing.T) {
	c, _ := dial(t, serve(t), crdeval.WithCatalog("team-a"))
	if _, err := c.RegisterCRD(t.Context(), manifest(1)); status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "team-a") {
		t.Errorf("a catalog that is not there: %v", err)
	}
	if _, err := c.Registry().CreateCatalog(t.Context(), &crdevalv1.CreateCatalogRequest{Catalog: "team-a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RegisterCRD(t.Context(), manifest(1)); err != nil {
		t.Error(err)
	}
	list, err := c.Registry().ListCrds(t.Context(), &crdevalv1.ListCrdsRequest{Catalog: "default"})
	if err != nil || len(list.GetCrds()) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestBearerToken checks that the server receives the token, and that it is not sent to other hosts in plain text.
func TestBearerToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	target := serve(t, "--auth-token-file="+path)
	for token, want := range map[string]codes.Code{"": codes.Unauthenticated, "other": codes.Unauthenticated, "s3cret": codes.OK} {
		c, _ := dial(t, target, crdeval.WithToken(token))
		if _, err := c.CheckCRD(t.Context(), manifest(1)); status.Code(err) != want {
			t.Errorf("%q: %v", token, err)
		}
	}
	for target, ok := range map[string]bool{
		"crdeval.example.com:9090": false, "10.0.0.1:9090": false, "dns:///crdeval.example.com:9090": false, "localhost.example.com:1": false,
		"localhost:9090": true, "127.0.0.1:9090": true, "[::1]:9090": true, "unix:///run/crdeval.sock": true, "dns:///localhost:9090": true,
	} {
		c, err := crdeval.Dial(target, crdeval.WithToken("s3cret"))
		if (err == nil) != ok {
			t.Errorf("%s: %v", target, err)
		}
		if err == nil {
			_ = c.Close()
		}
		c, err = crdeval.Dial(target, crdeval.WithToken("s3cret"), crdeval.WithTLS(&tls.Config{MinVersion: tls.VersionTLS12}))
		if err != nil {
			t.Errorf("%s by TLS: %v", target, err)
			continue
		}
		_ = c.Close()
	}
}

// TestInvalidTokens checks that a token that no header can have is an error of Dial, which does not contain it.
func TestInvalidTokens(t *testing.T) {
	for _, token := range []string{"s3cret\n", "s3\x00cret", "s3crét"} {
		_, err := crdeval.Dial("localhost:1", crdeval.WithToken(token))
		if err == nil || !strings.Contains(err.Error(), "printable ASCII") || strings.Contains(err.Error(), "s3") {
			t.Errorf("%q: %v", token, err)
		}
	}
}

func TestInvalidRetries(t *testing.T) {
	for _, o := range []crdeval.RetryOptions{{MaxAttempts: -1}, {FirstPause: -1}, {MaxPause: -1}} {
		if _, err := crdeval.Dial("localhost:1", crdeval.WithRetries(o)); err == nil || !strings.Contains(err.Error(), "negative") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestDialAddress(t *testing.T) {
	for target, ok := range map[string]bool{
		"": false, "localhost": false, "localhost:": false, "::1": false, "http://localhost:9090": false, "https://a:1": false,
		"localhost:1": true, "[::1]:1": true, "unix:a": true, "unix:///a": true, "dns:///a:1": true, "replicas:///all": true,
	} {
		c, err := crdeval.Dial(target, crdeval.WithDialOptions(grpc.WithResolvers(manual.NewBuilderWithScheme("replicas"))))
		if (err == nil) != ok {
			t.Errorf("%q: %v", target, err)
		}
		if err == nil {
			_ = c.Close()
		}
	}
}

func TestDocument(t *testing.T) {
	for text, json := range map[string]bool{"{}": true, " \n[1]": true, "a: b": false, "": false, "# {}": false, "---\n{}": false} {
		if d := crdeval.Document([]byte(text)); (d.GetJson() != nil) != json || string(d.GetJson())+string(d.GetRawYaml()) != text {
			t.Errorf("%q became %v", text, d)
		}
	}
}

// counting is a CRD with a transition rule, and a bound that a later revision added.
const counting = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: counters.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: counters, kind: Counter}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              step: {type: integer, default: 1, minimum: 1}
              limit: {type: integer, maximum: 100}
          status: {type: object, properties: {count: {type: integer, x-kubernetes-validations: [{rule: "self >= oldSelf", message: it never goes back}]}}}
  - {name: v1beta1, served: true, storage: false, schema: *schema}
`

func counter(rest string) []byte {
	return []byte(`{"apiVersion":"example.com/v1","kind":"Counter","metadata":{"name":"a","resourceVersion":"1"},` + rest + `}`)
}

// TestTransform checks Prune, Default, Read and Convert.
func TestTransform(t *testing.T) {
	c, _ := dial(t, serve(t, "--max-batch-items=2"))
	if _, err := c.RegisterCRD(t.Context(), []byte(counting)); err != nil {
		t.Fatal(err)
	}
	object := counter(`"spec":{"limit":1,"other":2}`)
	for name, tc := range map[string]struct {
		call func() ([]crdeval.Transformed, error)
		want []string
	}{
		"Prune":   {func() ([]crdeval.Transformed, error) { return c.Prune(t.Context(), object, object, object) }, []string{`{"limit":1}`}},
		"Default": {func() ([]crdeval.Transformed, error) { return c.Default(t.Context(), object, object, object) }, []string{`"step":1`, `"other":2`}},
		"Read":    {func() ([]crdeval.Transformed, error) { return c.Read(t.Context(), "", object, object, object) }, []string{`"step":1`, `"generation":1`}},
		"Convert": {func() ([]crdeval.Transformed, error) {
			return c.Convert(t.Context(), "v1beta1", object, object, object)
		}, []string{`example.com/v1beta1`, `{"limit":1}`}},
	} {
		results, err := tc.call()
		if err != nil || len(results) != 3 {
			t.Fatalf("%s: %v, %v", name, results, err)
		}
		for _, r := range results {
			got, err := r.Result()
			for _, want := range tc.want {
				if err != nil || !strings.Contains(string(got), want) {
					t.Errorf("%s: %s lacks %s (%v)", name, got, want, err)
				}
			}
		}
	}
	results, err := c.Read(t.Context(), "v9", object)
	if err != nil || status.Code(results[0].Err) != codes.NotFound {
		t.Errorf("another version: %v, %v", results, err)
	}
	if _, err := results[0].Result(); err == nil {
		t.Error("no error of a result that is one")
	}
	results, err = c.Prune(t.Context(), []byte(`{"apiVersion":"example.com/v1","kind":"Counter","metadata":5}`))
	if err != nil || results[0].GetRejection() == nil {
		t.Fatalf("metadata that is a number: %v, %v", results, err)
	}
	if _, err := results[0].Result(); err == nil || !strings.Contains(err.Error(), "metadata") && !strings.Contains(err.Error(), "ObjectMeta") {
		t.Errorf("its rejection: %v", err)
	}
	if _, err := c.Convert(t.Context(), "", object); err == nil {
		t.Error("a conversion to nothing")
	}
}
