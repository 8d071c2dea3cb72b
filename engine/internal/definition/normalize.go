package definition

import (
	"bytes"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// checkValues returns an error if a number in a default, an example or an enum is out of range. The v1 types keep these
// values as text, but upstream's internal types decode them.
func checkValues(s *schema.Props) error {
	var err error
	schema.AnySorted(s, func(s *schema.Props) bool {
		if err = checkValue(s.Default); err == nil {
			err = checkValue(s.Example)
		}
		for i := 0; i < len(s.Enum) && err == nil; i++ {
			err = checkValue(&s.Enum[i])
		}
		return err != nil
	})
	return err
}

// longestPlain is a length below which a number without an exponent cannot overflow a float64.
const longestPlain = 300

func checkValue(j *apiextensionsv1.JSON) error {
	if j == nil || len(j.Raw) < longestPlain && !bytes.ContainsAny(j.Raw, "eE") {
		return nil
	}
	var v any
	return utiljson.Unmarshal(j.Raw, &v)
}

// Normalize changes defaults, enums and examples to the form that the API server stores. For example, 1.0 becomes the
// integer 1. A registered CRD then equals the CRD that is read back.
func Normalize(crd *apiextensionsv1.CustomResourceDefinition) {
	d := tree.Acquire()
	defer d.Release()
	for i := range crd.Spec.Versions {
		schema.Any(schema.Of(&crd.Spec.Versions[i]), func(s *schema.Props) bool {
			normalizeValue(d, s.Default)
			normalizeValue(d, s.Example)
			for i := range s.Enum {
				normalizeValue(d, &s.Enum[i])
			}
			return false
		})
	}
}

func normalizeValue(d *tree.Doc, j *apiextensionsv1.JSON) {
	if j == nil || isNormal(j.Raw) {
		return
	}
	d.Reset()
	if root, err := d.ParseJSON(j.Raw, tree.Limits{MaxBytes: len(j.Raw)}); err == nil && d.Nodes[root].Flags&tree.Lossy != 0 {
		j.Raw = d.AppendCanonical(nil, root)
	}
}

// isNormal reports whether a value is surely in its stored form: a literal, a small integer, or an ASCII string without
// escapes. It may return false for others.
func isNormal(raw []byte) bool {
	const small = 19 // integers with fewer digits fit into int64
	if len(raw) == 0 {
		return true
	}
	switch c := raw[0]; {
	case c == 't' || c == 'f' || c == 'n':
		return true
	case c >= '0' && c <= '9':
		return len(raw) < small && !bytes.ContainsAny(raw, ".eE")
	}
	_, plain := schema.PlainText(raw)
	return plain
}
