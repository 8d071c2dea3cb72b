package selector

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
)

// Parse parses a field selector: comma-separated terms that must all match. A term is a field, an operator (=, == or
// !=) and a value. In a value, a backslash escapes a comma, an equals sign and a backslash. The error is upstream's.
//
// Upstream: endpoints/handlers/get.go, listOpts, which uses the parser of apimachinery and then converts each label.
func (s *Fields) Parse(selector string) (fields.Selector, error) {
	terms, err := fields.ParseSelector(selector)
	if err != nil {
		return nil, err
	}
	return terms.Transform(func(label, value string) (string, string, error) {
		if !slices.Contains(s.names, label) {
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}
		return label, value, nil
	})
}

// List implements fields.Fields. A missing field is "".
type List []Field

// Has implements fields.Fields.
func (l List) Has(name string) bool {
	return slices.ContainsFunc(l, func(f Field) bool { return f.Field == name })
}

// Get implements fields.Fields.
func (l List) Get(name string) string {
	for i := range l {
		if l[i].Field == name {
			return l[i].Value
		}
	}
	return ""
}
