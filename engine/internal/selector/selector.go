package selector

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
)

// Selector is a field selector over the fields of one version. It is immutable and safe for concurrent use.
type Selector struct {
	terms fields.Selector
}

// Parse parses a field selector: comma-separated terms that must all match. A term is a field, an operator (=, == or
// !=) and a value. In a value, a backslash escapes a comma, an equals sign and a backslash. The error is upstream's.
//
// Upstream: endpoints/handlers/get.go, listOpts, which uses the parser of apimachinery and then converts each label.
func (s *Fields) Parse(selector string) (*Selector, error) {
	terms, err := fields.ParseSelector(selector)
	if err != nil {
		return nil, err
	}
	terms, err = terms.Transform(func(label, value string) (string, string, error) {
		if !slices.Contains(s.names, label) {
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}
		return label, value, nil
	})
	if err != nil {
		return nil, err
	}
	return &Selector{terms: terms}, nil
}

// Matches reports whether all terms match the fields of an object. A missing field is "".
func (s *Selector) Matches(list []Field) bool { return s.terms.Matches(fieldList(list)) }

// Empty reports whether there are no terms, so that every object matches.
func (s *Selector) Empty() bool { return s.terms.Empty() }

// String returns the selector as upstream prints it: terms sorted, with = for ==.
func (s *Selector) String() string { return s.terms.String() }

// fieldList implements fields.Fields.
type fieldList []Field

// Has implements fields.Fields.
func (l fieldList) Has(name string) bool {
	return slices.ContainsFunc(l, func(f Field) bool { return f.Name == name })
}

// Get implements fields.Fields.
func (l fieldList) Get(name string) string {
	for i := range l {
		if l[i].Name == name {
			return l[i].Value
		}
	}
	return ""
}
