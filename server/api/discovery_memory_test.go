package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
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

// TestDocumentMemory checks that documents built at one time share a bound, which is free again when the calls have ended.
func TestDocumentMemory(t *testing.T) {
	rejected := &atomic.Int64{}
	w := startWith(t, nil, func(o *api.Options) { o.Rejected = func() { rejected.Add(1) } }).large(2) // documents of 5 MiB, 10 with their copies, of 32
	ask := func() error {
		_, err := w.shows.GetOpenApi(context.Background(), &crdevalv1.GetOpenApiRequest{Catalog: "default", Spec: "v2"})
		return err
	}
	patiently := func() error {
		for end := time.Now().Add(patience); ; {
			err := ask()
			if status.Code(err) != codes.Unavailable || time.Now().After(end) {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	for range 8 {
		if err := patiently(); err != nil {
			t.Fatal(err)
		}
	}
	rejected.Store(0)
	const callers = 32
	errs := make(chan error, callers)
	for range callers {
		go func() { errs <- ask() }()
	}
	none := int64(0)
	for range callers {
		err := <-errs
		switch st := status.Convert(err); {
		case err == nil:
		case st.Code() == codes.Unavailable && strings.Contains(st.Message(), "no memory for the document"):
			none++
		default:
			t.Error(err)
		}
	}
	if none != rejected.Load() {
		t.Errorf("%d were rejected, and %d counted", none, rejected.Load())
	}
	t.Logf("%d of %d were rejected", none, callers)
	if err := patiently(); err != nil {
		t.Errorf("after all is over: %v", err)
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
