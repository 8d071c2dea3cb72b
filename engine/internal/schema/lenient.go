package schema

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Lenient says which checks of keywords an update leaves out, because the stored CRD fails them anywhere. The zero
// value leaves out none.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, requireValidPropertyType, requireAtomicSetType,
// requireMapListKeysMapSetValidation)
type Lenient struct {
	// AnyTypes: types may be others than those of OpenAPI.
	AnyTypes bool
	// GranularSets: the items of sets need not be compared as a whole.
	GranularSets bool
	// OptionalKeys: the items of sets and maps, and the keys of maps, may be absent or null.
	OptionalKeys bool
}

// Learn adds what a stored schema fails.
func (l *Lenient) Learn(s *Props) {
	Any(s, func(s *Props) bool {
		l.AnyTypes = l.AnyTypes || s.Type != "" && !slices.Contains(types, s.Type)
		if s.XListType == nil || items(s) == nil {
			return false
		}
		listType := *s.XListType
		l.GranularSets = l.GranularSets || listType == "set" && len(setItems(items(s), nil)) > 0
		l.OptionalKeys = l.OptionalKeys || (listType == "set" || listType == "map") && len(definite(s, listType, field.NewPath(""))) > 0
		return false
	})
}
