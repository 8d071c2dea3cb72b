package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/testenv"
)

// registerOurs returns the engine's field errors for a CRD.
func registerOurs(t *testing.T, crd []byte) oracle.Answer {
	t.Helper()
	m, err := definition.Decode(crd)
	if err != nil {
		return oracle.Answer{DecodeError: err.Error()}
	}
	r := definition.Validate(context.Background(), m, definition.Options{})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return oracle.Answer{Errors: oracle.FieldErrorsOf(r.Errors)}
}

// differences lists the differences between our answer and upstream's. It also returns upstream's answer.
func differences(t *testing.T, crd []byte) ([]string, oracle.Answer) {
	t.Helper()
	_, theirs := oracle.Register(crd, false)
	// The suites compare what is stored. This compares field errors.
	theirs.Warnings, theirs.Rejection, theirs.Object, theirs.Generation, theirs.StoredVersions = nil, nil, nil, 0, nil
	mine := registerOurs(t, crd)
	for _, list := range [][]oracle.FieldError{theirs.Errors, mine.Errors} {
		for i := range list {
			if strings.HasPrefix(list[i].Detail, "contributed to") {
				list[i].Field, list[i].Message = "", "" // of equal candidates, upstream names those that come first in a Go map
			}
			list[i].Detail, list[i].Message = timeless(list[i].Detail), timeless(list[i].Message)
		}
	}
	return oracle.Compare(theirs, mine), theirs
}

func TestCorpusIsJudgedAlike(t *testing.T) {
	c := sampledCorpus(t)
	n := 0
	for _, crd := range c.CRDs {
		if !strings.Contains(string(crd.Doc), "x-kubernetes-validations") {
			continue
		}
		n++
		if d, _ := differences(t, crd.Doc); len(d) > 0 {
			t.Errorf("%s %s: %.2000q", crd.Module, crd.Path, d)
		}
	}
	if n < testenv.Portion(60) {
		t.Errorf("only %d CRDs have rules", n)
	}
}

// manifest returns a CRD with one version and this schema, in YAML.
func manifest(t *testing.T, schema string) []byte {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(schema))
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	return []byte(fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"as","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":%s}}]}}`, text))
}

// atSpec returns a schema with the given, unindented one as its spec.
func atSpec(schema string) string {
	return "type: object\nproperties:\n  spec:\n    " + strings.ReplaceAll(strings.TrimSpace(schema), "\n", "\n    ") + "\n"
}

// ruled returns an object schema with a rule and some properties.
func ruled(rule string, more ...string) string {
	return fmt.Sprintf(`
type: object
properties:
  i: {type: integer}
  s: {type: string}
  short: {type: string, maxLength: 10}
  l: {type: array, items: {type: string}}
  few: {type: array, maxItems: 5, items: {type: integer}}
  m: {type: object, additionalProperties: {type: integer}}
  x: {x-kubernetes-int-or-string: true}
  p: {type: object, x-kubernetes-preserve-unknown-fields: true}
  o: {type: object, properties: {a: {type: string}}}
  when: {type: string, format: date-time}
  namespace: {type: string}
  a-b: {type: string}
x-kubernetes-validations:
- rule: %q
%s`, rule, strings.Join(more, "\n"))
}

var schemas = map[string]string{
	"holds":                      ruled("self.i > 1"),
	"no such field":              ruled("self.nope > 1"),
	"syntax":                     ruled("self.i >"),
	"syntax on the second line":  ruled("self.i > 1 &&\n  self.s ==", "  message: m"),
	"not a bool":                 ruled("self.i"),
	"dyn is not a bool":          ruled("self.x"),
	"overload":                   ruled("self.i + 'a' == 'b'"),
	"undeclared":                 ruled("selfish.i == 1"),
	"macro argument":             ruled("self.l.all(x.y, true)"),
	"has argument":               ruled("has(self)"),
	"two errors":                 ruled("self.a == 1 && self.b == 2"),
	"preserved is invisible":     ruled("self.p.q == 1"),
	"type names":                 ruled("self.o == self.m"),
	"type name of self":          ruled("self == 1"),
	"bad duration":               ruled("duration('1x') == duration('1s')"),
	"bad timestamp":              ruled("timestamp('x') == timestamp('y')"),
	"bad regex":                  ruled("self.s.matches('(')"),
	"bad regex for find":         ruled("self.s.find('(') == ''"),
	"mixed literals":             ruled("[1, 'a'].size() == 2"),
	"cannot be planned":          ruled("int('abc') == 1"),
	"cannot be planned, oldSelf": ruled("oldSelf == self && int('abc') == 1"),
	"struct":                     ruled("google.protobuf.Int64Value{value: 1} == 1"),
	"type of Kubernetes' own":    ruled("self.s.includes('a') || [1].includes(1)"),
	"escaped":                    ruled("self.a__dash__b == self.__namespace__ && self.namespace == ''"),
	"expensive":                  ruled("self.l.all(x, self.l.all(y, x == y))"),
	"slightly too expensive":     ruled("self.l.all(x, x.contains('abc'))"),
	"expensive in a cheap list":  ruled("self.few.all(x, self.l.all(y, y != ''))"),
	"expensive message":          ruled("true", "  messageExpression: self.l.map(x, self.l.map(y, y + x).join('')).join('')"),
	"message":                    ruled("true", "  messageExpression: \"'a' + self.s\""),
	"message not a string":       ruled("true", "  messageExpression: self.i"),
	"message does not compile":   ruled("true", "  messageExpression: self.nope"),
	"message after rule":         ruled("self.nope", "  messageExpression: self.nope"),
	"message cannot be planned":  ruled("true", "  messageExpression: string(int('abc'))"),
	"blank rule":                 ruled(" "),
	"blank message":              ruled("true", "  messageExpression: ' '"),
	"optional without oldSelf":   ruled("self.i == 1", "  optionalOldSelf: true"),
	"false optional":             ruled("self.i == 1", "  optionalOldSelf: false"),
	"optional":                   ruled("!oldSelf.hasValue() || oldSelf.value().i == self.i", "  optionalOldSelf: true"),
	"optional is no value":       ruled("oldSelf.i == self.i", "  optionalOldSelf: true"),
	"reason and fieldPath":       ruled("self.nope", "  reason: FieldValueForbidden\n  fieldPath: .s\n  message: m"),
	"schema error beside":        ruled("self.nope", "uniqueItems: true"),
	"oldSelf in a map list": `
type: array
x-kubernetes-list-type: map
x-kubernetes-list-map-keys: [k]
items: {type: object, required: [k], properties: {k: {type: string}}, x-kubernetes-validations: [{rule: oldSelf == self}]}`,
	"oldSelf in a set": `
type: array
x-kubernetes-list-type: set
items: {type: string, x-kubernetes-validations: [{rule: oldSelf == self}]}`,
	"oldSelf below a list": `
type: array
items:
  type: object
  properties:
    l: {type: array, items: {type: string, x-kubernetes-validations: [{rule: oldSelf == self, optionalOldSelf: true}]}}`,
	"oldSelf in an atomic map": `
type: object
x-kubernetes-map-type: atomic
properties: {a: {type: string, x-kubernetes-validations: [{rule: oldSelf == self}]}}`,
	"oldSelf in a map of an unknown type": `
type: object
x-kubernetes-map-type: odd
properties: {a: {type: string, x-kubernetes-validations: [{rule: oldSelf == self}]}}`,
	"oldSelf in values": `
type: object
additionalProperties: {type: string, x-kubernetes-validations: [{rule: oldSelf == self}]}`,
	"untyped": `
x-kubernetes-preserve-unknown-fields: true
x-kubernetes-validations: [{rule: self == 1}, {rule: "true"}]`,
	"list of untyped": `
type: array
items: {x-kubernetes-preserve-unknown-fields: true}
x-kubernetes-validations: [{rule: self == 1}]`,
	"below untyped": `
x-kubernetes-preserve-unknown-fields: true
properties: {a: {type: string, x-kubernetes-validations: [{rule: self == 1}]}}
x-kubernetes-validations: [{rule: self == 1}]`,
	"int or string with items": `
x-kubernetes-int-or-string: true
items: {type: string, x-kubernetes-validations: [{rule: self == 1}]}
x-kubernetes-validations: [{rule: self == 1}]`,
	"object with items": `
type: object
items: {type: string, x-kubernetes-validations: [{rule: self == 1}]}
x-kubernetes-validations: [{rule: self == 1}]`,
	"array with properties": `
type: array
properties: {a: {type: string, x-kubernetes-validations: [{rule: self == 1}]}}
items: {type: string, x-kubernetes-validations: [{rule: self == 1}]}
x-kubernetes-validations: [{rule: self == 1}]`,
	"names without an escape": `
type: object
properties:
  "a b":
    type: object
    properties: {c: {type: string, x-kubernetes-validations: [{rule: self.d == 1}]}}
    x-kubernetes-validations: [{rule: self.d == 1}]
x-kubernetes-validations: [{rule: has(self.d)}]`,
	"embedded": `
type: object
x-kubernetes-embedded-resource: true
x-kubernetes-preserve-unknown-fields: true
properties:
  metadata: {type: object, properties: {labels: {type: object, additionalProperties: {type: string}, x-kubernetes-validations: [{rule: self == 1}]}}}
x-kubernetes-validations: [{rule: self.metadata.name == self.kind}, {rule: self.metadata.labels == 1}]`,
	"below a logical operator": `
type: object
properties: {a: {type: string}}
anyOf: [{properties: {a: {x-kubernetes-validations: [{rule: self == 1}]}}}]`,
	"in a list": `
type: array
items: {type: object, x-kubernetes-validations: [{rule: self.a.contains('b')}], properties: {a: {type: string}}}`,
	"in a bounded list": `
type: array
maxItems: 10
items: {type: object, x-kubernetes-validations: [{rule: self.a.contains('b')}], properties: {a: {type: string}}}`,
	"in an unbounded list of bounded ones": `
type: array
items: {type: array, maxItems: 10, items: {type: object, x-kubernetes-validations: [{rule: self.a.contains('b')}], required: [a], properties: {a: {type: string}}}}`,
	"in no list at all": `
type: array
maxItems: -1
items: {type: object, x-kubernetes-validations: [{rule: self.a.contains('b')}], properties: {a: {type: string}}}`,
	"all together": `
type: object
properties:
  a: &expensive {type: string, maxLength: 2000000, x-kubernetes-validations: [{rule: self.contains('x') && self.contains('y') && self.contains('z')}]}
  b: *expensive
  c: *expensive
  d: {type: string, maxLength: 3000000, x-kubernetes-validations: [{rule: self.contains('x') && self.contains('y') && self.contains('z'), messageExpression: self + self + self}]}
  e: {type: string, maxLength: 2900000, x-kubernetes-validations: [&r {rule: self.contains('x') && self.contains('y') && self.contains('z')}, *r, *r, *r, *r, *r, *r, *r, *r, *r, *r, *r, *r, *r]}
  f: {type: string, maxLength: 2800000, x-kubernetes-validations: [*r, *r, *r, *r, *r, *r, *r, *r, *r, *r, *r, *r, *r]}
  g: {type: string, maxLength: 2700000, x-kubernetes-validations: [*r, *r, *r, *r, *r, *r, *r, *r, *r, *r, *r, *r, *r]}`,
	"errors of schemas hide rules above and not beside": `
type: object
properties:
  a: {type: string, x-kubernetes-list-type: set, x-kubernetes-validations: [{rule: self == 1}]}
  b: {type: string, x-kubernetes-validations: [{rule: self == 1}]}
x-kubernetes-validations: [{rule: self == 1}]`,
	"not structural": `
type: array
x-kubernetes-validations: [{rule: self == 1}]`,
	"default invalid": `
type: object
properties: {a: {type: string, default: 1}}
x-kubernetes-validations: [{rule: self == 1}]`,
	"bytes, dates, durations": `
type: object
properties: {b: {type: string, format: byte}, d: {type: string, format: date}, t: {type: string, format: date-time}, u: {type: string, format: duration}}
x-kubernetes-validations: [{rule: "self.b == b'a' && self.d < self.t && self.u > duration('1s')"}, {rule: self.b == 'a'}, {rule: self.d == self.u}]`,
	"enums bound strings": `
type: object
properties: {e: {type: string, enum: [a, bbbbbbbbbbbb]}, l: {type: array, items: {type: string, enum: [a, bb]}}}
x-kubernetes-validations: [{rule: "self.l.all(x, x.contains(self.e))"}]`,
	"cost of libraries": `
type: object
properties: {l: {type: array, items: {type: string}}, n: {type: array, items: {type: integer}}, s: {type: string}}
x-kubernetes-validations:
- rule: sets.contains(self.l, self.l)
- rule: self.n.sort() == self.n
- rule: self.l.isSorted() && self.n.sum() > 3 && self.n.indexOf(3) > 1
- rule: self.l.distinct().size() == 3
- rule: self.s.find('a*') == ''
- rule: self.s.split(',').size() == 2
- rule: isURL(self.s) && url(self.s).getHost() == 'a'
- rule: quantity(self.s).isGreaterThan(quantity('1'))
- rule: ip(self.s).family() == 4 && cidr(self.s).containsIP(self.s)
- rule: "!format.dns1123Label().validate(self.s).hasValue()"
- rule: self.l.transformList(i, v, v + string(i)).join('') == ''
- rule: semver(self.s).major() == 1
- rule: "'%s %d'.format([self.s, 3]) == ''"
- rule: self.n.flatten().size() == 3
- rule: self.s.replace('a', 'b').lowerAscii() == self.s.trim()
- rule: "[self.s].exists(x, x in self.l)"`,
}

func TestViolationsOfRules(t *testing.T) {
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			d, theirs := differences(t, manifest(t, atSpec(schema)))
			if len(d) > 0 {
				t.Errorf("%s\nupstream: %+v", strings.Join(d, "\n"), theirs.Errors)
			}
		})
	}
}
