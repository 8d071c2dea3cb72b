package page

import (
	"strings"
	"testing"
)

// admitCRD has fields of the types that YAML 1.1 can mistake.
const admitCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.probe.example.org}
spec:
  group: probe.example.org
  scope: Namespaced
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              s: {type: object, additionalProperties: {type: string}}
              num: {type: integer}
              containers:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, cpu: {type: integer}}
`

// TestFixInList checks the positions of a fix in an item of a list behind another document.
func TestFixInList(t *testing.T) {
	object := "null\n---\nkind: List\napiVersion: v1\nitems:\n- apiVersion: probe.example.org/v1\n  kind: App\n  metadata: {name: a}\n" +
		"  spec:\n    nun: 1\n"
	r := evaluate(t.Context(), Input{CRD: admitCRD, Object: object})
	if r.Object == nil || len(r.Object.Violations) != 1 || len(r.Object.Violations[0].Fixes) == 0 {
		t.Fatalf("%s", encode(r))
	}
	if got := apply(object, r.Object.Violations[0].Fixes[0]); got != strings.Replace(object, "nun", "num", 1) {
		t.Errorf("%s", got)
	}
}
