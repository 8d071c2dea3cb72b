package openapi

import (
	"slices"
)

// intOrString is the pattern that x-kubernetes-int-or-string stands for.
const intOrString = `"anyOf":[{"type":"integer"},{"type":"string"}]`

// junctors writes the junctors of a node of the spine, with int-or-string spelled out: as anyOf, or as the first clause of allOf where anyOf is
// taken. They are of v3 alone.
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

// clauses writes the clauses of a list that was opened, and closes it.
func (w *writer) clauses(list []Props) {
	for i := range list {
		w.comma()
		w.clause(&list[i])
	}
	w.close(']')
}

// clause writes a schema below a junctor. What a structural schema cannot have there is not asked for, but a type is: int-or-string has
// them. additionalProperties, which may be false there, is not shown.
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
