package publish_test

import (
	"errors"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/publish"
)

// TestUnserved checks that tables and fields of a CRD that an API server cannot serve are answered with upstream's error.
func TestUnserved(t *testing.T) {
	d := fixture.Compile(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, items: {type: object, properties: {a: {type: string, default: b}}}}}}
`)
	object := widget("v1", `"name":"w","namespace":"n"`, "")
	_, table := publish.TableOf(t.Context(), d, "v1", []engine.Document{object}, publish.TableOptions{})
	_, selected := publish.Select(t.Context(), d, "v1", object)
	for call, err := range map[string]error{"table": table, "select": selected} {
		if e := (*engine.Error)(nil); !errors.As(err, &e) || e.Reason != engine.ReasonObjectRejected || e.Rejection == nil || e.Rejection.Code != 500 {
			t.Errorf("%s: %v", call, err)
		}
	}
}
