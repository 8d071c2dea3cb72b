package schema

import (
	"bytes"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/json"
)

// semantic compares API types as the API server does: a list or map that is empty equals one that is absent, and JSON
// is compared by what it holds, an integer never being equal to a float.
var semantic = conversion.EqualitiesOrDie(func(a, b apiextensionsv1.JSON) bool {
	if !holdsValue(&a) || !holdsValue(&b) {
		return !holdsValue(&a) && !holdsValue(&b)
	}
	if bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	var x, y any
	if json.Unmarshal(a.Raw, &x) != nil || json.Unmarshal(b.Raw, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
})

// Equal reports whether two parts of a CRD, of the same type, mean the same: what makes the API server treat the
// schemas, subresources, columns or selectable fields of all versions as one.
// (k8s.io/apimachinery/pkg/api/equality, Semantic, over the internal types)
func Equal[T any](a, b T) bool { return semantic.DeepEqual(a, b) }
