package tests

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

// numbers are 300 numbers: two nested macros over them cost about half of the limit of a rule.
var numbers = "[" + strings.TrimSuffix(strings.Repeat("1,", 300), ",") + "]"

// ruledDefaults contains schemas with a default that rules apply to.
var ruledDefaults = map[string]string{
	"default breaks its rule": `
type: integer
default: 0
x-kubernetes-validations: [{rule: self > 0}, {rule: self > 1, message: m, reason: FieldValueForbidden}]`,
	"default breaks a rule below": `
type: object
default: {a: 0, l: [{k: x, v: 1}]}
properties:
  a: {type: integer, x-kubernetes-validations: [{rule: self > 0}]}
  l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, v: {type: integer}}, x-kubernetes-validations: [{rule: self.v > 1, messageExpression: self.k + 'y', fieldPath: .v}]}}
x-kubernetes-validations: [{rule: self.a == oldSelf.a + 1}]`,
	"default as new": `
type: integer
default: 0
x-kubernetes-validations: [{rule: oldSelf.hasValue(), optionalOldSelf: true}]`,
	"default as old": `
type: integer
default: 0
x-kubernetes-validations: [{rule: "!oldSelf.hasValue()", optionalOldSelf: true}]`,
	"default with a transition": `
type: integer
default: 0
x-kubernetes-validations: [{rule: self > oldSelf}]`,
	"default and a rule that does not compile": `
type: object
default: {a: 1}
properties: {a: {type: integer, x-kubernetes-validations: [{rule: self.nope}]}}
x-kubernetes-validations: [{rule: self.nope}, {rule: self.a > 1}]`,
	"default and an error of a rule": `
type: object
default: {l: []}
properties: {l: {type: array, items: {type: string}}}
x-kubernetes-validations: [{rule: "self.l[0] == 'a'"}, {rule: "self.l[1] == 'a'", messageExpression: "self.l[2]"}]`,
	"default of an expensive rule": `
type: array
maxItems: 300
default: ` + numbers + `
items: {type: integer, maximum: 1000}
x-kubernetes-validations: [{rule: "self.all(x, self.all(y, self.all(z, z >= 0)))"}]`,
	"defaults that use up the budget": `
type: array
default: [` + strings.TrimSuffix(strings.Repeat(numbers+",", 12), ",") + `]
items:
  type: array
  default: [1]
  items: {type: integer}
  x-kubernetes-validations: [{rule: self.size() > 1}, {rule: "self.all(x, self.all(y, y >= 0))"}, {rule: "self.all(x, self.all(y, x >= 0))"}]`,
	"defaults within the budget": `
type: array
default: [` + numbers + `]
items:
  type: array
  default: [1]
  items: {type: integer}
  x-kubernetes-validations: [{rule: self.size() > 1}, {rule: "self.all(x, x >= 0)"}]`,
	"default of an embedded resource": `
type: object
x-kubernetes-embedded-resource: true
x-kubernetes-preserve-unknown-fields: true
default: {apiVersion: v1, kind: Pod, metadata: {name: x, nope: 1}}
x-kubernetes-validations: [{rule: self.metadata.name == 'y'}, {rule: "self.kind == 'Pod'"}]`,
	"default inside of an embedded resource": `
type: object
x-kubernetes-embedded-resource: true
x-kubernetes-preserve-unknown-fields: true
properties:
  metadata: {type: object, properties: {name: {type: string, default: x, x-kubernetes-validations: [{rule: self == 'y'}]}, labels: {type: object, additionalProperties: {type: string}, default: {a: b}, x-kubernetes-validations: [{rule: self.a == 'c'}]}}}
  kind: {type: string, default: A, x-kubernetes-validations: [{rule: self == 'B'}]}`,
	"default of an untyped schema with a rule": `
x-kubernetes-preserve-unknown-fields: true
default: 1
x-kubernetes-validations: [{rule: self > 1}]`,
	"default of int or string": `
x-kubernetes-int-or-string: true
default: 1
x-kubernetes-validations: [{rule: "type(self) == string"}, {rule: self < 1}]`,
	"default that is null": `
type: object
properties: {a: {type: string, nullable: true, default: null, x-kubernetes-validations: [{rule: self == 'a'}]}}
default: {a: null}
x-kubernetes-validations: [{rule: has(self.a)}]`,
	"default among names without an escape": `
type: object
default: {"a b": {c: 1}}
properties: {"a b": {type: object, properties: {c: {type: integer}}, x-kubernetes-validations: [{rule: self.c > 1}]}}
x-kubernetes-validations: [{rule: size(self) > 1}, {rule: "has(self.c)"}]`,
	"rules in allOf": `
type: object
properties: {a: {type: integer}}
default: {a: 1}
allOf: [{x-kubernetes-validations: [{rule: self.a > 1}]}, {properties: {a: {x-kubernetes-validations: [{rule: self > 1}]}}}]`,
}

func TestRulesOfDefaults(t *testing.T) {
	for name, schema := range ruledDefaults {
		t.Run(name, func(t *testing.T) {
			if name == "defaults that use up the budget" && testenv.Volume(1) == 1 {
				t.Skip("takes seconds: make conformance runs it")
			}
			d, theirs := differences(t, manifest(t, atSpec(schema)))
			if len(d) > 0 {
				t.Errorf("%s", strings.Join(d, "\n"))
			}
			for _, f := range theirs.Errors {
				t.Log(f.Field, f.Type, f.Detail)
			}
		})
	}
}
