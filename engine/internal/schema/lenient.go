package schema

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Lenient lists the keyword checks that an update skips because the stored CRD already fails them. The zero value skips
// no check.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, requireValidPropertyType,
// requireAtomicSetType, requireMapListKeysMapSetValidation)
type Lenient struct {
	// AnyTypes accepts types that OpenAPI does not define.
	AnyTypes bool
	// GranularSets accepts sets whose items are not atomic.
	GranularSets bool
	// OptionalKeys accepts nullable items of sets and maps, and optional or nullable keys of maps.
	OptionalKeys bool
}

// Learn adds the checks that a stored schema fails.
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
