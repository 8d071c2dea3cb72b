package schema

import (
	"bytes"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/json"
)

// semantic compares API types as the API server does. An empty list or map equals an absent one. JSON is compared by
// value, and an integer never equals a float.
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

// Equal reports whether two parts of a CRD are semantically equal. The API server uses this comparison to decide
// whether all versions share a schema, subresources, columns or selectable fields.
// (k8s.io/apimachinery/pkg/api/equality, Semantic, over the internal types)
func Equal[T any](a, b T) bool { return semantic.DeepEqual(a, b) }
