package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// changesDefault reports whether a change can give objects other defaults, or drop null.
func changesDefault(c *Change, new *engine.Definition) bool {
	switch {
	case strings.HasPrefix(c.Kind, "Default"), c.Kind == "NullableRemoved": // null is dropped or gets the default
		return true
	case c.Kind != "PropertyAdded":
		return false
	}
	p := sample.PlaceAt(cmp.Or(schema.Of(declared(new, c.Version)), &schema.Props{}), c.SchemaPointer)
	return p != nil && schema.HasDefaults(p.Schema)
}

// aroundDefault returns pointers to change objects at for the default at a pointer: the default, all schemas around it,
// their rules, and what their logical operators say about fields. transitions reports whether rules read the old value.
func aroundDefault(s *schema.Props, pointer string) (pointers []string, transitions bool) {
	isTransition := func(r apiextensionsv1.ValidationRule) bool { return compare.IsTransition(&r) }
	for i, at := range withParents(pointer) {
		p := sample.PlaceAt(cmp.Or(s, &schema.Props{}), at)
		if p == nil {
			pointers = append(pointers, at)
			continue
		}
		transitions = transitions || slices.ContainsFunc(p.Schema.XValidations, isTransition)
		if i == 0 { // the default can have values that rules below read
			transitions = transitions || schema.Any(p.Schema, func(s *schema.Props) bool {
				return slices.ContainsFunc(s.XValidations, isTransition)
			})
		}
		if p.Keyword != "" {
			pointers = append(pointers, at)
			continue
		}
		for k := range p.Schema.XValidations {
			pointers = append(pointers, p.Node+"/x-kubernetes-validations/"+strconv.Itoa(k))
		}
		pointers = append(append(pointers, at), inClauses(p.Schema, at)...)
	}
	return pointers[:min(len(pointers), mostAround)], transitions
}

// mostAround bounds the pointers of aroundDefault.
const mostAround = 64

// clausePointers returns the pointers of the schemas for fields and items in the logical operator or clause at a pointer.
func clausePointers(s *schema.Props, pointer string) (pointers []string) {
	p := sample.PlaceAt(cmp.Or(s, &schema.Props{}), pointer)
	if p == nil {
		return nil
	}
	if p.Keyword == "" {
		pointers = fieldPointers(p.Schema, p.Node)
	}
	pointers = append(pointers, inClauses(p.Schema, p.Node)...)
	return pointers[:min(len(pointers), mostAround)]
}

// inClauses returns the pointers of the schemas for fields and items in the logical operators of a schema at a pointer.
func inClauses(s *schema.Props, at string) (pointers []string) {
	add := func(s *schema.Props, at string) {
		pointers = append(pointers, append(fieldPointers(s, at), inClauses(s, at)...)...)
	}
	for keyword, clauses := range map[string][]schema.Props{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf} {
		for i := range clauses {
			add(&clauses[i], fmt.Sprintf("%s/%s/%d", at, keyword, i))
		}
	}
	if s.Not != nil {
		add(s.Not, at+"/not")
	}
	slices.Sort(pointers)
	return pointers
}

// fieldPointers returns the pointers of the schemas for fields and items of a schema at a pointer, at all levels.
func fieldPointers(s *schema.Props, at string) (pointers []string) {
	for _, name := range schema.Names(s.Properties) {
		p, next := s.Properties[name], at+"/properties/"+tree.EscapePointer(name)
		pointers = append(append(pointers, next), fieldPointers(&p, next)...)
	}
	if items := schema.Items(s); items != nil {
		pointers = append(append(pointers, at+"/items"), fieldPointers(items, at+"/items")...)
	}
	return pointers
}

// withParents returns the pointers of a keyword and of all schemas around it.
func withParents(pointer string) (all []string) {
	all = append(all, pointer)
	tokens := strings.Split(pointer, "/")
	for i := len(tokens) - 1; i > 0; i-- {
		above := strings.Join(tokens[:i], "/")
		if above == "" || tokens[i-1] != "properties" || i >= 2 && tokens[i-2] == "properties" {
			all = append(all, above)
		}
	}
	return all
}
