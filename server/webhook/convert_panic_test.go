package webhook

import (
	"errors"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/server/flow"
)

// TestPanicOfAPart checks that a panic in any goroutine that converts fails the review, and not the process.
func TestPanicOfAPart(t *testing.T) {
	manifest := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a.b.c"},"spec":{"group":"b.c",
		"scope":"Cluster","names":{"plural":"a","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	d, err := kubeserver.CompileStored(t.Context(), []byte(manifest), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	object := []byte(`{"apiVersion":"b.c/v1","kind":"A","metadata":{"name":"` + strings.Repeat("x", partBytes) + `"}}`)
	r := &Conversion{
		DesiredAPIVersion: "b.c/v1", Objects: [][]byte{object, object, object, object},
		Reserve: func(int64) error { panic("ouch") },
	}
	err = r.convert(t.Context(), flow.New(flow.Options{Seats: 4}), d, split(r.Objects))
	if p, is := errors.AsType[*host.PanicError](err); !is || !strings.Contains(string(p.Stack), "convert_panic_test.go") {
		t.Errorf("got %v", err)
	}
}
