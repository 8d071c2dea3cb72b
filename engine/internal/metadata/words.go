package metadata

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The functions of this file return upstream's messages about a string. The common messages are built once; upstream
// matches regular expressions and builds its messages for each string.

// someWrong is a string that is not a subdomain, name or label because of its characters.
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
	switch {
	case isQualifiedName(s):
		return nil
	case s != "" && len(s) <= validation.LabelValueMaxLength && !strings.Contains(s, "/"):
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
