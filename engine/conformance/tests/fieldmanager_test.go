package tests

import (
	"encoding/json"
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/engine/kubeserver"
)

// TestFieldManagerTakesThem runs upstream's field manager and its handler of scales with the engine's reset fields.
func TestFieldManagerTakesThem(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com","scope":"Namespaced",
		"names":{"plural":"crontabs","kind":"CronTab"},"versions":[{"name":"v1","served":true,"storage":true,
		"subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"},"color":{"type":"string"}}},
		"status":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}}`), crd); err != nil {
		t.Fatal(err)
	}
	d := compileCRD(t, crd)
	m, err := kubeserver.FieldManagementOf(d, "v1")
	if err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupVersionKind{Group: "stable.example.com", Version: "v1", Kind: "CronTab"}
	owned := func(subresource string) string {
		manager, err := managedfields.NewDefaultCRDFieldManager(managedfields.NewDeducedTypeConverter(), oneVersion{}, oneVersion{}, oneVersion{}, kind, kind.GroupVersion(), subresource,
			fieldpath.NewExcludeFilterSetMap(m.Sets(subresource)))
		if err != nil {
			t.Fatal(err)
		}
		live, applied := newObject(kind), newObject(kind)
		for _, part := range []string{"spec", "status"} {
			applied.Object[part] = map[string]any{"size": int64(3)}
		}
		merged, err := manager.Apply(live, applied, "me", false)
		if err != nil {
			t.Fatal(err)
		}
		entries := merged.(*unstructured.Unstructured).GetManagedFields()
		if len(entries) != 1 {
			t.Fatalf("%+v", entries)
		}
		if subresource == "" {
			scale, err := managedfields.NewScaleHandler(entries, kind.GroupVersion(), m.Mappings()).ToSubresource()
			if err != nil || len(scale) != 1 || scale[0].FieldsV1.GetRawString() != `{"f:spec":{"f:replicas":{}}}` {
				t.Errorf("of the scale: %+v, %v", scale, err)
			}
		}
		return entries[0].FieldsV1.GetRawString()
	}
	if got := owned(""); got != `{"f:spec":{".":{},"f:size":{}}}` {
		t.Errorf("by a write to the object %s is owned", got)
	}
	if got := owned("status"); got != `{"f:status":{".":{},"f:size":{}}}` {
		t.Errorf("by a write to the status %s is owned", got)
	}
}

func newObject(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	u.SetName("x")
	u.SetNamespace("default")
	return u
}

// oneVersion converts between objects of one version, adds no defaults, and creates empty objects.
type oneVersion struct{}

// Convert implements runtime.ObjectConvertor.
func (oneVersion) Convert(in, out, _ any) error {
	return fmt.Errorf("%T is not to be made %T", in, out)
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (oneVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (oneVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default implements runtime.ObjectDefaulter.
func (oneVersion) Default(runtime.Object) {}

// New implements runtime.ObjectCreater.
func (oneVersion) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return newObject(kind), nil
}
