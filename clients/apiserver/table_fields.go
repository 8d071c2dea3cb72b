package apiserver

import (
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// columnFields selects the fields of objects that the columns of a table read. A nil value selects everything below
// a name. A table of large objects then costs as much as one of small objects.
type columnFields map[string]columnFields

// newColumnFields returns the fields that columns read, and those of every row. It returns nil, which selects everything,
// if the fields of a column are not known.
func newColumnFields(columns []apiextensionsv1.CustomResourceColumnDefinition) columnFields {
	all := columnFields{"apiVersion": nil, "kind": nil, "metadata": nil, "items": nil}
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

func (f columnFields) add(names []string) {
	for i, name := range names {
		below, known := f[name]
		switch {
		case known && below == nil:
			return
		case i == len(names)-1:
			f[name] = nil
			return
		case !known:
			below = columnFields{}
			f[name] = below
		}
		f = below
	}
}

// of returns an object with the selected fields. Objects above them stay objects, so that they get no default.
func (f columnFields) of(object map[string]any) map[string]any {
	if f == nil {
		return object
	}
	selected := make(map[string]any, len(f))
	for name, below := range f {
		v, ok := object[name]
		if !ok {
			continue
		}
		if inner, ok := v.(map[string]any); ok {
			v = below.of(inner)
		}
		selected[name] = v
	}
	return selected
}
