package definition

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// selectable checks selectableFields against their schema. parent is the path of both. version is "" if all versions
// share them. (validation.go, ValidateCustomResourceSelectableFields)
func (s *spec) selectable(
	fields []apiextensionsv1.SelectableField, p *schema.Props, parent *field.Path, version string,
) field.ErrorList {
	var errs field.ErrorList
	if err := s.shared.Survey.Unsupported(p); err != nil {
		errs = append(errs, field.Invalid(parent.Child("schema.openAPIV3Schema"), "", err.Error()))
		p = nil // no fields; upstream panics on the first valid path
	}
	path := parent.Child("selectableFields")
	unique := map[string]bool{}
	for i := range fields {
		jsonPath, at := fields[i].JSONPath, path.Index(i).Child("jsonPath")
		if jsonPath == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		resolved, found, err := schema.Resolve(jsonPath, p, false)
		if err != nil {
			errs = append(errs, field.Invalid(at, jsonPath, fmt.Sprintf("is an invalid path: %v", err)))
			continue
		}
		if resolved[:min(1, len(resolved))].Bracketed() == "metadata" {
			errs = append(errs, field.Invalid(at, jsonPath, "must not point to fields in metadata"))
		}
		if found == nil || found.Type != "string" && found.Type != "boolean" && found.Type != "integer" {
			errs = append(errs, field.Invalid(at, jsonPath, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."))
		}
		if unique[resolved.Bracketed()] {
			errs = append(errs, field.Duplicate(at, jsonPath))
		}
		unique[resolved.Bracketed()] = true
	}
	if len(unique) > maxSelectableFields && !s.ratchet.manyFields(version) {
		errs = append(errs, field.TooMany(path, len(unique), maxSelectableFields))
	}
	return errs
}

// maxSelectableFields is the maximum number of distinct selectable fields of one version.
const maxSelectableFields = 8
