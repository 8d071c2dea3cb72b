package engine_test

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// TestLargeNumberInText: a CRD in JSON with a number beyond float64 in an unknown field compiles in a longer text, too.
func TestLargeNumberInText(t *testing.T) {
	const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.com"},"more":1e999,
"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"as","kind":"A"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"many"}}}]}}`
	text := strings.Repeat(" \n", 1000) + crd
	origin := tree.NewText([]byte(text), tree.Position{}).At(2000)
	_, report, err := engine.Compile(t.Context(), engine.Document{JSON: []byte(text)[2000:], Origin: origin}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations {
		if v.Type == "FieldValueNotSupported" {
			if v.Position == nil || v.Position.Line != 1003 || !strings.HasPrefix(text[v.Position.Offset:], `"many"`) {
				t.Errorf("%v is at %v", v, v.Position)
			}
			return
		}
	}
	t.Errorf("%v", report.Violations)
}
