package definition

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// names checks the names of a CRD that are set. The check of the spec reports missing ones.
// (validation.go, ValidateCustomResourceDefinitionNames)
func names(n *apiextensionsv1.CustomResourceDefinitionNames, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	label := func(path *field.Path, name, text, prefix string) {
		if bad := utilvalidation.IsDNS1035Label(text); len(bad) > 0 {
			errs = append(errs, field.Invalid(path, name, prefix+strings.Join(bad, ",")))
		}
	}
	const mixedCase = "may have mixed case, but should otherwise match: "
	for _, part := range []struct{ field, name, text, prefix string }{
		{"plural", n.Plural, n.Plural, ""}, {"singular", n.Singular, n.Singular, ""},
		{"kind", n.Kind, strings.ToLower(n.Kind), mixedCase},
		{"listKind", n.ListKind, strings.ToLower(n.ListKind), mixedCase},
	} {
		if part.name != "" {
			label(path.Child(part.field), part.name, part.text, part.prefix)
		}
	}
	for i, name := range n.ShortNames {
		label(path.Child("shortNames").Index(i), name, name, "")
	}
	if n.Kind != "" && n.Kind == n.ListKind {
		errs = append(errs, field.Invalid(path.Child("listKind"), n.ListKind, "kind and listKind may not be the same"))
	}
	for i, name := range n.Categories {
		label(path.Child("categories").Index(i), name, name, "")
	}
	return errs
}

// HeldNames returns the names that only one CRD of a group can hold, as a resource and as a kind. Unset names are "".
func HeldNames(n *apiextensionsv1.CustomResourceDefinitionNames) (resources, kinds []string) {
	return slices.Concat([]string{n.Plural, n.Singular}, n.ShortNames), []string{n.Kind, n.ListKind}
}

// claims counts the accepted names of all CRDs in one group.
type claims struct{ resources, kinds map[string]int }

func (c claims) count(n *apiextensionsv1.CustomResourceDefinitionNames, by int) {
	resources, kinds := HeldNames(n)
	for _, name := range resources {
		c.resources[name] += by
	}
	for _, name := range kinds {
		c.kinds[name] += by
	}
}

// names accepts each requested name that is free. Names without conflict are accepted even if others conflict, and the
// condition reports the last conflict. As in upstream, a CRD's accepted names conflict with its own other names, for
// example its short name with its singular. A CRD that returns to its accepted names keeps its old conflict condition.
// (k8s.io/apiextensions-apiserver/pkg/controller/status/naming_controller.go)
func (s *statusWriter) names(asked *apiextensionsv1.CustomResourceDefinitionNames, taken claims) {
	had := s.status.AcceptedNames
	if schema.Equal(*asked, had) {
		return
	}
	accepted, verdict := accept(asked, had, taken)
	if reflect.DeepEqual(had, accepted) {
		if old := s.condition(verdict.Type); old != nil && apihelpers.IsCRDConditionEquivalent(old, &verdict) {
			return
		}
	}
	s.changed = true
	taken.count(&had, -1)
	taken.count(&accepted, 1)
	s.status.AcceptedNames = accepted

	s.set(verdict)
	if isTrue(s.status, apiextensionsv1.Established) {
		return
	}
	if verdict.Status == apiextensionsv1.ConditionTrue {
		s.set(apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse,
			Reason: "Installing", Message: "the initial names have been accepted",
		})
	} else if s.condition(apiextensionsv1.Established) == nil {
		s.set(apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse,
			Reason: "NotAccepted", Message: "not all names are accepted",
		})
	}
}

// accept returns the accepted names and the condition NamesAccepted.
func accept(
	asked *apiextensionsv1.CustomResourceDefinitionNames, had apiextensionsv1.CustomResourceDefinitionNames, taken claims,
) (apiextensionsv1.CustomResourceDefinitionNames, apiextensionsv1.CustomResourceDefinitionCondition) {
	accepted := had
	verdict := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found",
	}
	conflict := func(reason string, used ...string) {
		verdict.Status, verdict.Reason, verdict.Message = apiextensionsv1.ConditionFalse, reason, inUse(used)
	}
	one := func(want, have string, into *string, taken map[string]int, reason string) {
		if want != have && taken[want] > 0 {
			conflict(reason, want)
			return
		}
		*into = want
	}
	one(asked.Plural, had.Plural, &accepted.Plural, taken.resources, "PluralConflict")
	one(asked.Singular, had.Singular, &accepted.Singular, taken.resources, "SingularConflict")
	var used []string
	for _, name := range asked.ShortNames {
		if taken.resources[name] > 0 && !slices.Contains(had.ShortNames, name) && !slices.Contains(used, name) {
			used = append(used, name)
		}
	}
	switch {
	case reflect.DeepEqual(asked.ShortNames, had.ShortNames):
	case len(used) > 0:
		conflict("ShortNamesConflict", used...)
	default:
		accepted.ShortNames = asked.ShortNames
	}
	one(asked.Kind, had.Kind, &accepted.Kind, taken.kinds, "KindConflict")
	one(asked.ListKind, had.ListKind, &accepted.ListKind, taken.kinds, "ListKindConflict")
	accepted.Categories = asked.Categories
	return accepted, verdict
}

// inUse returns the message for one conflict, or a list for several.
func inUse(used []string) string {
	texts := make([]string, len(used))
	for i, name := range used {
		texts[i] = fmt.Sprintf("%q is already in use", name)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
