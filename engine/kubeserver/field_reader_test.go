package kubeserver_test

import (
	"encoding/json"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/publish"
)

const selectableCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com",
	"scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","listKind":"CronTabList","shortNames":["ct"],"categories":["all"]},"versions":[
	{"name":"v1","served":true,"storage":true,"selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.runs"}],
	 "subresources":{"status":{},"scale":{"specReplicasPath":".spec.runs","statusReplicasPath":".status.runs"}},
	 "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},"runs":{"type":"integer"}}},
	  "status":{"type":"object","properties":{"runs":{"type":"integer"}}}}}}},
	{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},
	{"name":"v1alpha1","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

// TestFieldReader compares the fields of an object with those that a compiled CRD selects.
func TestFieldReader(t *testing.T) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal([]byte(selectableCRD), &crd); err != nil {
		t.Fatal(err)
	}
	object := engine.JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"n","namespace":"ns"},"spec":{"color":"blue","runs":3}}`))
	d, _, err := engine.Compile(t.Context(), engine.JSON([]byte(selectableCRD)), engine.Options{})
	if err != nil || d == nil {
		t.Fatal(err)
	}
	r := kubeserver.NewFieldReader(&crd.Spec.Versions[0], crd.Spec.Scope)
	want, err := publish.Select(t.Context(), d, "v1", object)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Read(object, engine.Limits{}); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if names, err := publish.SelectableFields(d, "v1"); err != nil || !slices.Equal(r.Names(), names) {
		t.Errorf("%v, want %v, %v", r.Names(), names, err)
	}
	if names := kubeserver.NewFieldReader(&crd.Spec.Versions[1], apiextensionsv1.ClusterScoped).Names(); !slices.Equal(names, []string{"metadata.name"}) {
		t.Error(names)
	}
	if _, err := r.Read(engine.JSON([]byte(`{`)), engine.Limits{}); engine.ReasonOf(err) != engine.ReasonObjectUnreadable {
		t.Error(err)
	}
}
