package engine

import (
	"strings"
	"testing"
)

// A float that is stored as -0 is read back as the integer 0, wherever in the object it stands: also in a status that a
// write puts into the old object, or that an update keeps of it.
func TestAdmitStatusOfMinusZero(t *testing.T) {
	d := compileCRD(t, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gauges.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gauges, kind: Gauge}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: number}, status: {type: number}}}}
    subresources: {status: {}}
`)
	object := func(rest string) Document {
		return JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gauge","metadata":{"name":"x","namespace":"default","resourceVersion":"7"}` + rest + `}`))
	}
	for name, item := range map[string]Write{
		"written": Update{Subresource: "status", Old: object(``), Object: object(`,"status":-0.0`)},
		"kept":    Update{Old: object(`,"status":-0.0`), Object: object(`,"spec":1`)},
	} {
		for _, view := range []View{ViewFull, ViewChanged} {
			v, err := d.Admit(t.Context(), item, AdmitOptions{View: view})
			if err != nil || !v.Allowed {
				t.Fatalf("%s: %v %v", name, v, err)
			}
			if !strings.Contains(string(v.Object), `"status":0`) {
				t.Errorf("%s: answered %s", name, v.Object)
			}
			if name == "written" && !strings.Contains(string(v.StoredObject), `"status":-0`) {
				t.Errorf("%s: stored %s", name, v.StoredObject)
			}
		}
	}
}
