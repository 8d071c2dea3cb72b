package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
)

// large registers CRDs whose documents have some MiB each.
func (w *wire) large(count int) *wire {
	w.t.Helper()
	for i := range count {
		manifest := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a%[1]ds.large.example.com"},"spec":{"group":"large.example.com","scope":"Cluster",
			"names":{"plural":"a%[1]ds","singular":"a%[1]d","kind":"A%[1]d","listKind":"A%[1]dList"},"versions":[{"name":"v1","served":true,"storage":true,
			"schema":{"openAPIV3Schema":{"type":"object","description":%[2]q}}}]}}`, i, strings.Repeat("x", 2500<<10))
		if a, err := w.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: jsonDocument(manifest)}); err != nil || !a.GetAccepted() {
			w.t.Fatal(a, err)
		}
	}
	return w
}

// TestDocumentMemory checks that the documents that a call builds count as memory of its caller until the call ends.
func TestDocumentMemory(t *testing.T) {
	rejected := &atomic.Int64{}
	w := startWith(t, nil, func(o *api.Options) { o.Rejected = func() { rejected.Add(1) } }).large(2)
	w.ledger = call.NewMemory(32 << 20) // 16 MiB for one caller
	other := w.ledger.Open("caller")
	if err := other.TryGrow(call.Response, 15<<20); err != nil {
		t.Fatal(err)
	}
	for path, held := range map[string]int64{"openapi/v2": 0, "apis": 1 << 20, "crds?view=CRD_VIEW_FULL": 0} { // the discovery of 2 versions needs 8 KiB
		if err := other.TryGrow(call.Response, held); err != nil {
			t.Fatal(err)
		}
		if got := w.do(http.MethodGet, "/v1/catalogs/default/"+path, ""); got.code != http.StatusServiceUnavailable || !strings.Contains(got.text, "OVERLOADED") {
			t.Errorf("%s: HTTP %d %.300s", path, got.code, got.text)
		}
		other.Shrink(call.Response, held)
	}
	if n := rejected.Load(); n != 3 {
		t.Errorf("%d rejections were counted, want 3", n)
	}
	other.Release()
	if got := w.do(http.MethodGet, "/v1/catalogs/default/openapi/v2", ""); got.code != http.StatusOK {
		t.Errorf("HTTP %d %.300s", got.code, got.text)
	}
}

// TestDocumentTooLarge: a document beyond a message is rejected for what it is, by either spec.
func TestDocumentTooLarge(t *testing.T) {
	w := start(t, nil).large(3)
	for _, r := range []*crdevalv1.GetOpenApiRequest{{Spec: "v2"}, {Spec: "v3", Group: "large.example.com", Version: "v1"}} {
		r.Catalog = "default"
		for range 2 {
			_, err := w.shows.GetOpenApi(context.Background(), r)
			if st := status.Convert(err); st.Code() != codes.ResourceExhausted || !strings.Contains(st.Message(), "max_message_bytes") {
				t.Errorf("%s: %v", r.GetSpec(), err)
			}
		}
	}
}
