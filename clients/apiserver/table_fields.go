package apiserver

import (
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/document"
)

// columnFields are the fields from which the cells of a table are printed: those that its columns read, and the name.
// Nil selects all fields. The selection reduces the cost of large objects.
type columnFields []columnField

type columnField struct {
	name  string
	key   string // the name in JSON, with a colon
	below columnFields
}

// newColumnFields returns the fields that columns read, those of Name and Age among them. It returns nil, which selects
// everything, if the fields of a column are not known.
func newColumnFields(columns []apiextensionsv1.CustomResourceColumnDefinition) columnFields {
	var all columnFields
	for _, name := range []string{"name", "creationTimestamp"} {
		all.add([]string{"metadata", name})
	}
	for _, c := range columns {
		names := firstNames(c.JSONPath)
		if len(names) == 0 {
			return nil
		}
		all.add(names)
	}
	return all
}

// leadingNames matches the names with which a JSONPath begins.
var leadingNames = regexp.MustCompile(`^(\.[A-Za-z0-9_-]+)*`)

// firstNames returns the names with which a JSONPath begins. It stops at the first part that is not a plain
// name.
func firstNames(path string) []string {
	start := leadingNames.FindString(path)
	if start == "" || strings.Contains(path, "$") {
		return nil
	}
	names := strings.Split(start[1:], ".")
	if rest := path[len(start):]; rest != "" && rest[0] != '[' && rest[0] != '.' {
		return names[:len(names)-1] // the last name is incomplete, for example before an escaped dot
	}
	return names
}

// add selects the field at a path.
func (f *columnFields) add(names []string) {
	at := slices.IndexFunc(*f, func(known columnField) bool { return known.name == names[0] })
	known := at >= 0
	if !known {
		at = len(*f)
		*f = append(*f, columnField{name: names[0], key: string(document.AppendCanonicalString(nil, names[0])) + ":"})
	}
	field := &(*f)[at]
	switch {
	case known && field.below == nil: // all of it is selected
	case len(names) == 1:
		field.below = nil
	default:
		field.below.add(names[1:])
	}
}
