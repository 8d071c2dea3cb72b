package schema

import (
	"fmt"
	"regexp/syntax"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// values checks the value validation of a schema, on the spine or below a logical operator. plainAnyOf and plainAllOf
// report that anyOf, or the anyOf of allOf's first clause, is the int-or-string pattern and may contain types.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/validation.go, validateValueValidation)
func (c *checker) values(s *Props, plainAnyOf, plainAllOf bool, path *field.Path) {
	clauses(s, path, func(clause *Props, keyword string, k int, path *field.Path) {
		if keyword != "anyOf" || !plainAnyOf {
			c.clause(clause, keyword == "allOf" && k == 0 && plainAllOf, path)
		}
	})
	if s.Pattern != "" {
		if _, err := syntax.Parse(s.Pattern, syntax.Perl); err != nil {
			c.add(field.Invalid(path.Child("pattern"), s.Pattern, fmt.Sprintf("must be a valid regular expression, but isn't: %v", err)))
		}
	}
}

// clause checks a schema below a logical operator. It may contain value validation only.
func (c *checker) clause(s *Props, plainAnyOf bool, path *field.Path) {
	if s == nil || !c.budget.Open() {
		return
	}
	c.values(s, plainAnyOf, false, path)
	c.clause(Items(s), false, path.Child("items"))
	for _, name := range Names(s.Properties) {
		p := s.Properties[name]
		c.clause(&p, false, path.Child("properties").Key(name))
	}
	forbid := c.forbidden(path)
	forbid(s.Type != "", "type", "must be empty to be structural")
	forbid(allowsMore(s), "additionalProperties", "must be undefined to be structural")
	forbid(HasValue(s.Default), "default", "must be undefined to be structural")
	forbid(s.Title != "", "title", "must be empty to be structural")
	forbid(s.Description != "", "description", "must be empty to be structural")
	forbid(s.Nullable, "nullable", "must be false to be structural")
	forbid(Preserves(s), "x-kubernetes-preserve-unknown-fields", "must be false to be structural")
	forbid(s.XEmbeddedResource, "x-kubernetes-embedded-resource", "must be false to be structural")
	forbid(s.XIntOrString, "x-kubernetes-int-or-string", "must be false to be structural")
	forbid(len(s.XListMapKeys) > 0, "x-kubernetes-list-map-keys", "must be empty to be structural")
	forbid(s.XListType != nil, "x-kubernetes-list-type", "must be undefined to be structural")
	forbid(s.XMapType != nil, "x-kubernetes-map-type", "must be undefined to be structural")
	forbid(len(s.XValidations) > 0 && quirk.On(quirk.NoRulesInLogicalOperators), "x-kubernetes-validations", "must be empty to be structural")
	if _, found := s.Properties["metadata"]; found {
		c.add(field.Forbidden(path.Child("properties").Key("metadata"), "must not be specified in a nested context"))
	}
}

// complete checks that the spine has every field that the logical operators of v mention. s is the spine schema of v.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/complete.go)
func (c *checker) complete(v, s *Props, spinePath, path *field.Path) {
	clauses(v, path, func(clause *Props, _ string, _ int, path *field.Path) { c.counterpart(clause, s, spinePath, path) })
}

// counterpart checks that clause v has a spine schema s, and does the same for all schemas below v.
func (c *checker) counterpart(v, s *Props, spinePath, path *field.Path) {
	if v == nil || !c.budget.Open() {
		return
	}
	if s == nil {
		c.add(field.Required(spinePath, "because it is defined in "+path.String()))
		return
	}
	c.complete(v, s, spinePath, path)
	c.counterpart(Items(v), Items(s), spinePath.Child("items"), path.Child("items"))
	for _, name := range Names(v.Properties) {
		p := v.Properties[name]
		var there *Props
		if q, ok := s.Properties[name]; ok {
			there = &q
		}
		c.counterpart(&p, there, spinePath.Child("properties").Key(name), path.Child("properties").Key(name))
	}
}
