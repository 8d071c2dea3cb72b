package present

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// What a write to the object itself, and one to its status, resets to what was stored before. Read-only.
//
// Upstream: registry/customresource/strategy.go and status_strategy.go, GetResetFields.
var (
	ResetByObject = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	ResetByStatus = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
)

// FieldsPath is the path to a field that is reached through members of objects alone, as the owners of fields are told by.
func FieldsPath(names []string) fieldpath.Path {
	path := make(fieldpath.Path, 0, len(names))
	for _, name := range names {
		path = append(path, fieldpath.PathElement{FieldName: &name})
	}
	return path
}
