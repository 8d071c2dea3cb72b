package selector

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
)

// Selector is a field selector over the fields of one version. It is immutable; any number of goroutines share it.
type Selector struct {
	terms fields.Selector
}

// Parse reads a field selector: terms that must all hold, joined by commas, each a field, an operator (=, == or !=) and a value in which a comma, an
// equals sign and a backslash are written with a backslash before them. The error is upstream's.
//
// Upstream: endpoints/handlers/get.go, listOpts, which parses with apimachinery's own parser and then has each label converted.
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

// Matches reports whether all terms hold of an object with these fields. A field that is not among them is "".
func (s *Selector) Matches(list []Field) bool { return s.terms.Matches(fieldList(list)) }

// Empty reports whether there are no terms: it matches every object.
func (s *Selector) Empty() bool { return s.terms.Empty() }

// String writes the selector as upstream does: terms in the order of the alphabet, with = for ==.
func (s *Selector) String() string { return s.terms.String() }

// fieldList are fields as apimachinery's selectors ask for them.
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
