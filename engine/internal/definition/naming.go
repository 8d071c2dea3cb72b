package definition

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Claims counts the names that the CRDs of one group have been accepted under. The zero value has none.
type Claims struct {
	// resources are plural and singular and short names, kinds are kind and listKind.
	resources, kinds map[string]int
}

// Add counts the accepted names of one more CRD.
func (c *Claims) Add(n *apiextensionsv1.CustomResourceDefinitionNames) {
	if c.resources == nil {
		c.resources, c.kinds = map[string]int{}, map[string]int{}
	}
	c.count(n, 1)
}

func (c *Claims) count(n *apiextensionsv1.CustomResourceDefinitionNames, by int) {
	c.resources[n.Plural] += by
	c.resources[n.Singular] += by
	for _, name := range n.ShortNames {
		c.resources[name] += by
	}
	c.kinds[n.Kind] += by
	c.kinds[n.ListKind] += by
}

// names accepts what is free of the names that a CRD asks for, each for itself: of several conflicts the last is
// reported, and names without conflict are accepted beside ones that are rejected. As in the reference, a CRD's own
// accepted names are taken for others of its own (its short name for its singular), and one that returns to the names
// it has keeps the conflict that it had.
// (k8s.io/apiextensions-apiserver/pkg/controller/status/naming_controller.go)
func (s *statusWriter) names(asked *apiextensionsv1.CustomResourceDefinitionNames, taken Claims) {
	had := s.status.AcceptedNames
	if schema.Equal(*asked, had) {
		return
	}
	accepted, verdict := accept(asked, had, taken)
	if reflect.DeepEqual(had, accepted) {
		if old := s.condition(verdict.Type); old != nil && sameCondition(old, &verdict) {
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

// accept returns the names that a CRD has from now on and the condition that says how it went.
func accept(
	asked *apiextensionsv1.CustomResourceDefinitionNames, had apiextensionsv1.CustomResourceDefinitionNames, taken Claims,
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

// inUse words one conflict, and several in a list of those that differ.
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
