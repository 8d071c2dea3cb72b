package admission

import (
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// TestRestart checks that nothing remains of the fast path if a write starts over after validation: the storage version
// declares an embedded resource whose metadata only the exact path reads. One change reaches the limit of changes.
func TestRestart(t *testing.T) {
	d := define(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		v := crd.Spec.Versions
		v[0].Storage, v[1].Storage = false, true
		v[1].Schema = v[0].Schema.DeepCopy()
		spec := v[0].Schema.OpenAPIV3Schema.Properties["spec"]
		template := spec.Properties["template"]
		template.XEmbeddedResource = false
		spec.Properties["template"] = template
	})
	body := gadget(`"name":"g","namespace":"n","finalizers":["a"]`,
		`,"spec":{"template":{"apiVersion":"v1","kind":"A","metadata":{"creationTimestamp":"2024-01-01T01:00:00+01:00"}}}`)
	r := Request{Body: []byte(body), WantObject: true, WantChanges: true, Limits: tree.Limits{MaxViolations: 1}}
	got, err := d.Admit(t.Context(), &r)
	if err != nil || got.Rejection != nil || !got.Exact {
		t.Fatalf("%v, %+v, on the exact path: %v", err, got.Rejection, got.Exact)
	}
	r.Exact = true
	want, err := d.Admit(t.Context(), &r)
	if err != nil || len(want.Defaulted) != 1 || len(want.Warnings) != 1 {
		t.Fatalf("%v, %+v", err, want)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
