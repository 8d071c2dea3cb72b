package metadata

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The functions of this file say what upstream's validators say about a text: nothing mostly, and mostly the same if it is wrong. That
// is asked once. Whatever is not plain is upstream's to say: it matches regular expressions and joins its answer anew each time.

// someWrong is what upstream says about a text that is wrong in its letters alone: it is no subdomain, no name, no label.
const someWrong = "-"

var (
	wrongSubdomain  = sync.OnceValue(func() []string { return validation.IsDNS1123Subdomain(someWrong) })
	wrongQualified  = sync.OnceValue(func() []string { return validation.IsQualifiedName(someWrong) })
	wrongLabelValue = sync.OnceValue(func() []string { return validation.IsValidLabelValue(someWrong) })
)

// subdomainFaults is validation.IsDNS1123Subdomain.
func subdomainFaults(s string) []string {
	switch {
	case isSubdomain(s):
		return nil
	case len(s) <= validation.DNS1123SubdomainMaxLength:
		return wrongSubdomain()
	}
	return validation.IsDNS1123Subdomain(s)
}

// labelFaults is validation.IsDNS1123Label.
func labelFaults(s string) []string {
	if isLabel(s) {
		return nil
	}
	return validation.IsDNS1123Label(s)
}

// qualifiedFaults is validation.IsQualifiedName.
func qualifiedFaults(s string) []string {
	if isQualifiedName(s) {
		return nil
	}
	for i := range len(s) {
		if s[i] == '/' {
			return validation.IsQualifiedName(s)
		}
	}
	if 0 < len(s) && len(s) <= validation.LabelValueMaxLength {
		return wrongQualified()
	}
	return validation.IsQualifiedName(s)
}

// labelValueFaults is validation.IsValidLabelValue.
func labelValueFaults(s string) []string {
	switch {
	case s == "" || isNamePart(s):
		return nil
	case len(s) <= validation.LabelValueMaxLength:
		return wrongLabelValue()
	}
	return validation.IsValidLabelValue(s)
}
