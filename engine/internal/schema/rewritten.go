package schema

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/value"
)

// Rewritten reports whether the API server stores a default or an enum of the CRD differently from its text: 1.0, -0,
// invalid UTF-8 or duplicate keys. The canonical form then differs in meaning from the text.
func Rewritten(crd *apiextensionsv1.CustomResourceDefinition) bool {
	d := value.Acquire()
	lossy := func(j *apiextensionsv1.JSON) bool {
		if j == nil || len(j.Raw) == 0 {
			return false
		}
		d.Reset()
		root, err := d.ParseJSON(j.Raw, value.Limits{MaxBytes: len(j.Raw)})
		return err == nil && d.Nodes[root].Flags&value.Lossy != 0
	}
	found := false
	for i := range crd.Spec.Versions {
		found = found || Any(Of(&crd.Spec.Versions[i]), func(s *Props) bool {
			for k := range s.Enum {
				if lossy(&s.Enum[k]) {
					return true
				}
			}
			return lossy(s.Default)
		})
	}
	d.Release()
	return found
}
