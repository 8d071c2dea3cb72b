package apiserver

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdeval/crdeval/cache"
)

// TestFieldTypes: field types that are not in the cache are built again.
func TestFieldTypes(t *testing.T) {
	u := &unstructured.Unstructured{}
	if err := unmarshal([]byte(`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a"},"spec":{"watts":1.0}}`), u); err != nil {
		t.Fatal(err)
	}
	for name, limit := range map[string]int64{"cached": 1 << 20, "not cached": 1} {
		built := cache.New(cache.Options[*fieldTypes, builtTypes]{MaxBytes: limit, Weigh: func(b builtTypes) int64 { return b.bytes }})
		types, err := newFieldTypes(t.Context(), lamps(t), false, built)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := built.Cached(types); ok != (limit > 1) {
			t.Errorf("%s: in the cache: %v", name, ok)
		}
		value, err := types.ObjectToTyped(u)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		set, err := value.ToFieldSet()
		if err != nil || set.Size() == 0 {
			t.Errorf("%s: fields %v, %v", name, set, err)
		}
		if _, err := types.TypedToObject(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
