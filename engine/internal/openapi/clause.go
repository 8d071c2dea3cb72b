package openapi

import (
	"slices"
)

// intOrString is the expansion of x-kubernetes-int-or-string.
const intOrString = `"anyOf":[{"type":"integer"},{"type":"string"}]`

// logical operators writes the logical operators of a structural node. It expands int-or-string to anyOf, or to the first clause
// of allOf if the node has its own anyOf. Only v3 has logical operators.
func (w *writer) junctors(s *Props) {
	unfold := unfolds(s)
	if len(s.AllOf) > 0 || unfold && len(s.AnyOf) > 0 {
		w.key("allOf").open('[')
		if unfold && len(s.AnyOf) > 0 {
			w.raw([]byte("{" + intOrString + "}"))
		}
		w.clauses(s.AllOf)
	}
	if len(s.OneOf) > 0 {
		w.key("oneOf").open('[')
		w.clauses(s.OneOf)
	}
	switch {
	case len(s.AnyOf) > 0:
		w.key("anyOf").open('[')
		w.clauses(s.AnyOf)
	case unfold:
		w.comma()
		w.raw([]byte(intOrString))
	}
	if s.Not != nil {
		w.key("not").clause(s.Not)
	}
}

// clauses writes the elements of an opened list and closes it.
func (w *writer) clauses(list []Props) {
	for i := range list {
		w.comma()
		w.clause(&list[i])
	}
	w.close(']')
}

// clause writes a schema below a logical operator. It ignores keywords that a structural schema does not allow there,
// except type, which int-or-string needs. It omits additionalProperties, which may be false there.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/kubeopenapi.go, NestedValueValidation.toKubeOpenAPI)
func (w *writer) clause(s *Props) {
	w.open('{')
	w.generics(s, s.Type)
	w.bounds(s)
	w.texts("required", s.Required)
	if element := items(s); element != nil {
		w.key("items").clause(element)
	}
	if len(s.AllOf) > 0 {
		w.key("allOf").open('[')
		w.clauses(s.AllOf)
	}
	if len(s.OneOf) > 0 {
		w.key("oneOf").open('[')
		w.clauses(s.OneOf)
	}
	if len(s.AnyOf) > 0 {
		w.key("anyOf").open('[')
		w.clauses(s.AnyOf)
	}
	if s.Not != nil {
		w.key("not").clause(s.Not)
	}
	if len(s.Properties) > 0 {
		names := make([]string, 0, len(s.Properties))
		for name := range s.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
		w.key("properties").open('{')
		for _, name := range names {
			p := s.Properties[name]
			w.key(name).clause(&p)
		}
		w.close('}')
	}
	w.annotations(s)
	w.extensions(s, nil)
	w.close('}')
}
