package diff_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/testenv"
)

// thing returns a CRD with a schema for spec, and a further version if second is not "".
func thing(spec, second string) []byte {
	if second != "" {
		second = fmt.Sprintf(`
  - {name: v2, served: %s, storage: false, schema: {openAPIV3Schema: {type: object}}}`, second)
	}
	return fmt.Appendf(nil, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: %s}}}}%s
`, spec, second)
}

// fields returns the schema of an object with properties.
func fields(properties string) string { return "{type: object, properties: {" + properties + "}}" }

// counterexamples compares two CRDs and searches counterexamples. It checks each with both definitions. If the new CRD is
// rejected as an update, it is a new CRD.
func counterexamples(t *testing.T, old, new []byte) (*diff.Result, []diff.Counterexample) {
	t.Helper()
	return counterexamplesWith(t, old, new, diff.SearchOptions{})
}

// counterexamplesWith is counterexamples with options.
func counterexamplesWith(t *testing.T, old, new []byte, o diff.SearchOptions) (
	*diff.Result, []diff.Counterexample) {
	t.Helper()
	result := compareYAML(t, old, new, engine.Options{})
	var both []*engine.Definition
	for _, manifest := range [][]byte{old, new} {
		d, report, err := engine.Compile(t.Context(), engine.YAML(manifest), engine.Options{})
		if err != nil || d == nil {
			t.Fatal(err, report)
		}
		both = append(both, d)
	}
	list, err := diff.Counterexamples(t.Context(), both[0], both[1], result, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Found == nil {
			continue
		}
		if missing := c.Found.New.Rejection; missing != nil && strings.HasSuffix(missing.Cause, "have other URLs") {
			continue
		}
		var item engine.Write = engine.Create{Version: c.Found.Version, Object: engine.JSON(c.Found.Object)}
		if c.Found.OldObject != nil {
			item = engine.Update{
				Version: c.Found.Version, Object: engine.JSON(c.Found.Object), Old: engine.JSON(c.Found.OldObject),
				Subresource: c.Found.Subresource,
			}
		}
		for i, d := range both {
			v, err := d.Validate(t.Context(), item, engine.ValidateOptions{FieldValidation: engine.FieldValidationStrict, CompleteMetadata: true})
			if allowed := err == nil && v.Allowed; allowed != (i == 0 || c.Ignored != nil) {
				t.Errorf("%s: the CRD %d answers %+v, %v to %s", result.Changes[c.Change].Kind, i, v, err, c.Found.Object)
			}
		}
	}
	return result, list
}

func TestCounterexamples(t *testing.T) {
	const replicas = "min: {type: integer}, max: {type: integer}"
	ruled := func(rules string) string {
		return "{type: object, required: [min, max], properties: {" + replicas + "}, x-kubernetes-validations: [" + rules +
			"]}"
	}
	const discriminated = "type: object, required: [t], properties: {t: {type: string, enum: [A, B]}, s: {type: string}}, " +
		"oneOf: [{properties: {t: {enum: [A]}}}, {properties: {t: {enum: [B]}, "
	defaulted := func(min int) string {
		return fmt.Sprintf("{type: object, required: [max], properties: {min: {type: integer, default: %d}, "+
			"max: {type: integer}}, x-kubernetes-validations: [{rule: self.min <= self.max}]}", min)
	}
	for _, tc := range []struct{ kind, old, new, want, cause string }{
		{"BoundTightened", fields("i: {type: integer, maximum: 10}"), fields("i: {type: integer, maximum: 5}"), `{"i":6}`,
			"less than or equal to 5"},
		{"BoundTightened", fields("i: {type: integer}"), fields("i: {type: integer, minimum: -3}"), `{"i":-4}`,
			"greater than or equal to -3"},
		{"BoundTightened", fields("i: {type: integer, multipleOf: 7}"),
			fields("i: {type: integer, multipleOf: 7, maximum: 1000000}"), `{"i":1000006}`, "less than or equal to"},
		{"LogicalOperatorChanged", fields("s: {type: string, anyOf: [{pattern: '^a'}, {pattern: '^b'}]}"),
			fields("s: {type: string, anyOf: [{pattern: '^a$'}, {pattern: '^b'}]}"), `{"s":"aa"}`, "anyOf"},
		{"LogicalOperatorChanged", "{" + discriminated + "s: {pattern: '^x'}}}]}",
			"{" + discriminated + "s: {pattern: '^x$'}}}]}", ``, "oneOf"},
		{"BoundTightened", fields("i: {type: number, maximum: 2}"),
			fields("i: {type: number, maximum: 2, exclusiveMaximum: true}"), `{"i":2}`, "less than 2"},
		{"BoundTightened", fields("s: {type: string}"), fields("s: {type: string, maxLength: 2}"), `{"s":"aaa"}`, "Too long"},
		{"BoundTightened", fields("s: {type: string}"), fields("s: {type: string, minLength: 1}"), `{"s":""}`, "at least 1"},
		{"BoundTightened", fields("l: {type: array, items: {type: string}}"),
			fields("l: {type: array, maxItems: 3, items: {type: string}}"), `{"l":["","","",""]}`, "Too many"},
		{"BoundTightened", fields("m: {type: object, additionalProperties: {type: string}}"),
			fields("m: {type: object, maxProperties: 1, additionalProperties: {type: string}}"), ``, "Too many"},
		{"RequiredAdded", fields("a: {type: string}, b: {type: string}"),
			"{type: object, required: [b], properties: {a: {type: string}, b: {type: string}}}", `{}`, "spec.b: Required value"},
		{"EnumValueRemoved", fields("e: {type: string, enum: [alpha, beta]}"), fields("e: {type: string, enum: [alpha]}"),
			`{"e":"beta"}`, "Unsupported value"},
		{"EnumAdded", fields("e: {type: string}"), fields("e: {type: string, enum: [alpha]}"), `{"e":""}`,
			"Unsupported value"},
		{"PatternChanged", fields("p: {type: string, pattern: '^[a-z]+$'}"), fields("p: {type: string, pattern: '^[a-m]+$'}"),
			``, "should match '^[a-m]+$'"},
		{"PatternAdded", fields("p: {type: string, minLength: 1}"), fields("p: {type: string, minLength: 1, pattern: '^x'}"),
			`{"p":"a"}`, "should match"},
		{"FormatAdded", fields("f: {type: string}"), fields("f: {type: string, format: ipv4}"), `{"f":""}`, "ipv4"},
		{"RuleAdded", "{type: object, required: [min, max], properties: {" + replicas + "}}",
			ruled("{rule: self.min <= self.max}"), `{"max":0,"min":1}`, "failed rule"},
		{"RuleChanged", ruled("{rule: self.min <= self.max}"), ruled("{rule: self.min < self.max}"), `{"max":0,"min":0}`,
			"failed rule"},
		{"RuleAdded", fields("a: {type: string}"),
			fields("a: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: fixed}]}"), `{"a":""}`,
			"fixed"},
		{"TypeChanged", fields("t: {type: integer}"), fields("t: {type: string}"), `{"t":0}`, "must be of type string"},
		{"ListTypeChanged", fields("l: {type: array, items: {type: string}}"),
			fields("l: {type: array, x-kubernetes-list-type: set, items: {type: string}}"), `{"l":["",""]}`, "Duplicate value"},
		{"PreserveUnknownRemoved", "{type: object, x-kubernetes-preserve-unknown-fields: true}",
			"{type: object, properties: {a: {type: string}}}", `{"unknownField":""}`, `unknown field "spec.unknownField"`},
		{"PropertyRemoved", fields("a: {type: string}, b: {type: string}"), fields("a: {type: string}"), `{"b":""}`,
			`unknown field "spec.b"`},
		{"RequiredAdded", fields("a: {type: string}, b: {type: string}"),
			"{type: object, properties: {a: {type: string}, b: {type: string}}, allOf: [{required: [b]}]}", `{}`,
			"Required value"},
		{"NullableRemoved", fields("l: {type: array, items: {type: string, nullable: true}}"),
			fields("l: {type: array, items: {type: string}}"), `{"l":[null]}`, "null"},
		{"DefaultRemoved", "{type: object, required: [a], properties: {a: {type: string, default: x}}}",
			"{type: object, required: [a], properties: {a: {type: string}}}", `{}`, "spec.a: Required value"},
		{"DefaultChanged", defaulted(1), defaulted(9), `{"max":1}`, "failed rule"},
		{"MapValuesRemoved", fields("m: {type: object, additionalProperties: {type: string}}"),
			fields("m: {type: object, properties: {b: {type: string}}}"), ``, "unknown field"},
	} {
		result, list := counterexamples(t, thing(tc.old, ""), thing(tc.new, ""))
		var found *diff.Write
		for _, c := range list {
			if result.Changes[c.Change].Kind == tc.kind {
				found = c.Found
			}
		}
		switch {
		case found == nil:
			t.Errorf("%s: no counterexample: %+v%s", tc.kind, list, diffText(result))
		case tc.want != "" && fixture.Spec(found.Object) != tc.want:
			t.Errorf("%s to %s: %s, want %s", tc.kind, tc.new, fixture.Spec(found.Object), tc.want)
		case !strings.Contains(found.New.Rejection.Message, tc.cause):
			t.Errorf("%s to %s: %s", tc.kind, tc.new, found.New.Rejection.Message)
		}
	}
}

// TestCounterexampleOfVersions: any object of a version that is removed or no longer served is a counterexample.
func TestCounterexampleOfVersions(t *testing.T) {
	for kind, second := range map[string]string{"VersionRemoved": "", "VersionUnserved": "false"} {
		result, list := counterexamples(t, thing("{type: object}", "true"), thing("{type: object}", second))
		if len(list) != 1 || result.Changes[list[0].Change].Kind != kind || list[0].Found == nil ||
			list[0].Found.Version != "v2" || list[0].Found.New.Rejection.Code != 404 {
			t.Errorf("%s: %+v%s", kind, list, diffText(result))
		}
	}
}

// TestCounterexampleOfTheRightChange: each of several changes has an object that violates it, and not another one.
func TestCounterexampleOfTheRightChange(t *testing.T) {
	result, list := counterexamples(t, thing(fields("a: {type: integer}, b: {type: string}, c: {type: string}"), ""),
		thing("{type: object, required: [c], properties: {a: {type: integer, maximum: 3}, b: {type: string, enum: [x]}, c: {type: string, pattern: '^y'}}}", ""))
	if len(list) != 4 {
		t.Fatalf("%+v%s", list, diffText(result))
	}
	for _, c := range list {
		change := result.Changes[c.Change]
		if c.Found == nil {
			t.Errorf("%s: none", change.Kind)
			continue
		}
		hit := false
		for _, v := range c.Found.New.Violations {
			hit = hit || strings.HasPrefix(change.SchemaPointer, v.SchemaPointer) && v.SchemaPointer != ""
		}
		if !hit {
			t.Errorf("%s at %s: %s", change.Kind, change.SchemaPointer, c.Found.New.Rejection.Message)
		}
	}
}

func TestCounterexamplesFindNothing(t *testing.T) {
	testenv.SingleGoroutine(t)
	// The rule is true for each object of the schema.
	old, new := thing(fields("i: {type: integer, minimum: 0}"), ""), thing("{type: object, properties: {i: {type: integer, minimum: 0}}, x-kubernetes-validations: [{rule: '!has(self.i) || self.i > -5'}]}", "")
	result, list := counterexamples(t, old, new)
	if len(list) != 1 || result.Changes[list[0].Change].Kind != "RuleAdded" || list[0].Found != nil ||
		list[0].Tries != diff.DefaultTries {
		t.Errorf("%+v%s", list, diffText(result))
	}
	d, _, err := engine.Compile(t.Context(), engine.YAML(old), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	list, err = diff.Counterexamples(ended, d, d, result, diff.SearchOptions{})
	if err != nil || len(list) != 1 || list[0].Tries != 0 || !result.SearchIncomplete {
		t.Errorf("after the end of the context: %+v, %v", list, err)
	}
	if _, err := diff.Counterexamples(t.Context(), d, d, result,
		diff.SearchOptions{Tries: -1}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
		t.Error(err)
	}
}

// TestCounterexampleOfDefault: an object that the new CRD rejects with the old default too does not count.
func TestCounterexampleOfDefault(t *testing.T) {
	result, list := counterexamples(t, thing(fields("a: {type: integer, maximum: 10, default: 1}"), ""),
		thing(fields("a: {type: integer, maximum: 2, default: 2}"), ""))
	for _, c := range list {
		if kind := result.Changes[c.Change].Kind; (c.Found != nil) != (kind == "BoundTightened") {
			t.Errorf("%s: %+v", kind, c.Found)
		}
	}
	if len(list) != 2 {
		t.Errorf("%+v%s", list, diffText(result))
	}
}

// TestCounterexampleOfOtherDefault: a default that rules, logical operators or bounds around it do not allow makes a
// change breaking.
func TestCounterexampleOfOtherDefault(t *testing.T) {
	object := func(b, more string) string {
		return fields("f: {type: object, properties: {a: {type: string}, b: {type: string" + b + "}}" + more + "}")
	}
	boolean := func(def string) string {
		return fields("f: {type: object, properties: {enabled: {type: boolean, default: " + def + "}, a: {type: string}}, " +
			"x-kubernetes-validations: [{rule: '!self.enabled || has(self.a)'}]}")
	}
	list := func(b string) string {
		return fields("l: {type: array, items: {type: object, default: {}, properties: {m: {type: object, additionalProperties: " +
			"{type: object, properties: {a: {type: string}, b: {type: string" + b + "}}, oneOf: [{required: [a]}, {required: [b]}]}}}}}")
	}
	const added = ", default: x"
	for _, tc := range []struct{ name, old, new, want string }{
		{"oneOf", object("", ", oneOf: [{required: [a]}, {required: [b]}]"),
			object(added, ", oneOf: [{required: [a]}, {required: [b]}]"), `{"f":{"a":""}}`},
		{"a rule", object("", ", x-kubernetes-validations: [{rule: '!has(self.a) || !has(self.b)'}]"),
			object(added, ", x-kubernetes-validations: [{rule: '!has(self.a) || !has(self.b)'}]"), `{"f":{"a":""}}`},
		{"maxProperties", object("", ", maxProperties: 1"), object(added, ", maxProperties: 1"), `{"f":{"a":""}}`},
		{"not", object("", ", not: {required: [b]}"), object(added, ", not: {required: [b]}"), `{"f":{}}`},
		{"minProperties in not", object("", ", not: {minProperties: 2}"), object(added, ", not: {minProperties: 2}"), `{"f":{"a":""}}`},
		{"anyOf of absence", object("", ", anyOf: [{required: [a]}, {not: {required: [b]}}]"),
			object(added, ", anyOf: [{required: [a]}, {not: {required: [b]}}]"), `{"f":{}}`},
		{"alone", object("", ", x-kubernetes-validations: [{rule: '!has(self.b) || has(self.a)'}]"),
			object(added, ", x-kubernetes-validations: [{rule: '!has(self.b) || has(self.a)'}]"), `{"f":{}}`},
		{"false to true", boolean("false"), boolean("true"), `{"f":{}}`},
		{"in a list", list(""), list(added), ``},
		{"a new property", fields("f: {type: object, properties: {a: {type: string}}, maxProperties: 1}"),
			object(added, ", maxProperties: 1"), `{"f":{"a":""}}`},
		{"a rule above", fields("a: {type: string}, f: {type: object, default: {}, properties: {b: {type: string}}}"),
			"{type: object, properties: {a: {type: string}, f: {type: object, default: {}, properties: {b: {type: string, default: x}}}}}", ""},
	} {
		above := tc.name == "a rule above"
		if above {
			rule := ", x-kubernetes-validations: [{rule: '!has(self.a) || !has(self.f.b)'}]}"
			tc.old, tc.new, tc.want = strings.TrimSuffix(tc.old, "}")+rule, strings.TrimSuffix(tc.new, "}")+rule, `{"a":""}`
		}
		result, list := counterexamples(t, thing(tc.old, ""), thing(tc.new, ""))
		if result.Class != diff.Breaking || len(list) != 1 || list[0].Found == nil || result.Changes[list[0].Change].Writers != diff.Breaking ||
			tc.want != "" && fixture.Spec(list[0].Found.Object) != tc.want {
			t.Errorf("%s: %+v%s", tc.name, list, diffText(result))
			for _, c := range list {
				if c.Found != nil {
					t.Errorf("%s: %s", tc.name, c.Found.Object)
				}
			}
		}
	}
}

// TestUndecided: a short search decides changes that need care. It does not search for others.
func TestUndecided(t *testing.T) {
	defaulted := func(def, maximum string) []byte {
		return thing("{type: object, properties: {a: {type: string}, b: {type: integer"+def+"}, c: {type: integer, maximum: "+maximum+
			"}}, oneOf: [{required: [a]}, {required: [b]}]}", "")
	}
	old, new := defaulted("", "9"), defaulted(", default: 1", "5")
	result := compareYAML(t, old, new, engine.Options{})
	var both []*engine.Definition
	for _, manifest := range [][]byte{old, new} {
		d, report, err := engine.Compile(t.Context(), engine.YAML(manifest), engine.Options{})
		if err != nil || d == nil {
			t.Fatal(err, report)
		}
		both = append(both, d)
	}
	if !result.Undecided() {
		t.Fatalf("decided%s", diffText(result))
	}
	list, err := diff.Counterexamples(t.Context(), both[0], both[1], result,
		diff.SearchOptions{Tries: diff.UndecidedTries, Undecided: true})
	if err != nil || len(list) != 1 || result.Changes[list[0].Change].Kind != "DefaultAdded" || list[0].Found == nil || result.Undecided() {
		t.Errorf("%+v, %v%s", list, err, diffText(result))
	}
}

// TestCounterexampleOutsideOfSchemas: each change outside of schemas has a write that shows it, or a reason why none does.
func TestCounterexampleOutsideOfSchemas(t *testing.T) {
	const (
		v1     = "{name: v1, served: true, storage: true"
		schema = ", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {k: {type: integer}}}, status: {type: object, properties: {k: {type: integer}}}}}}}"
		plain  = v1 + schema
	)
	with := func(more string) string { return v1 + ", " + more + schema }
	crd := func(head, versions string) []byte {
		if head == "" {
			head = "names: {plural: things, kind: Thing}, scope: Namespaced"
		}
		return []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n" +
			"spec: {group: example.com, " + head + ", versions: [" + versions + "]}\n")
	}
	scale := func(spec string) string {
		return with("subresources: {scale: {specReplicasPath: " + spec + ", statusReplicasPath: .status.k}}")
	}
	labels := with("subresources: {scale: {specReplicasPath: .spec.k, statusReplicasPath: .status.k, labelSelectorPath: .status.l}}")
	second := func(storage bool, properties string) string {
		return fmt.Sprintf("{name: v2, served: true, storage: %v, schema: {openAPIV3Schema: {type: object, properties: {%s}}}}",
			storage, properties)
	}
	const field = "a: {type: string}"
	webhook := "names: {plural: things, kind: Thing}, scope: Namespaced, conversion: {strategy: Webhook, webhook: " +
		"{conversionReviewVersions: [v1], clientConfig: {url: 'https://example.com/convert'}}}"
	for _, tc := range []struct {
		kind     string
		old, new []byte
		body     string // part of the object
		request  string // "create", or the subresource
		result   string // part of the message, the ignored fields, or the reason
	}{
		{"StatusRemoved", crd("", with("subresources: {status: {}}")), crd("", plain), "Thing", "status", "not found"},
		{"StatusAdded", crd("", plain), crd("", with("subresources: {status: {}}")), `"status":{}`, "create", "[status]"},
		{"ScaleRemoved", crd("", scale(".spec.k")), crd("", plain), `"kind":"Scale","metadata":{"name":"a.b","namespace":"default"},"spec":{"replicas":1}}`, "scale", "not found"},
		{"ScaleAdded", crd("", plain), crd("", scale(".spec.k")), `"spec":{"k":-1}`, "create", "non-negative"},
		{"ScaleChanged", crd("", scale(".spec.m")), crd("", scale(".spec.k")), `"spec":{"k":-1}`, "create", "non-negative"},
		{"ScaleChanged", crd("", labels), crd("", scale(".spec.k")), "", "", "it affects only clients that read the subresource scale"},
		{"ScopeChanged", crd("", plain), crd("names: {plural: things, kind: Thing}, scope: Cluster", plain), "Thing", "create", "could not find"},
		{"KindChanged", crd("", plain), crd("names: {plural: things, kind: Other}, scope: Namespaced", plain), "Thing", "create", "kind"},
		{"NameChanged", crd("", plain), []byte(strings.Replace(string(crd("names: {plural: others, kind: Thing}, scope: Namespaced", plain)),
			"things.example.com", "others.example.com", 1)), "Thing", "create", "could not find"},
		{"StorageLosesFields", crd("", plain+", "+second(false, field)),
			crd("", strings.Replace(plain, "storage: true", "storage: false", 1)+", "+second(true, field)), `"spec":{}`, "create",
			"[spec]"},
		{"ConversionStrategyChanged", crd(webhook, plain), crd("", plain), "", "", "the conversion webhook of the old CRD decides"},
		{"SelectableFieldRemoved", crd("", with("selectableFields: [{jsonPath: .spec.k}]")), crd("", plain), "", "",
			"it rejects lists and watches, but no writes"},
		{"VersionRemoved", crd("", plain+", "+second(false, "")), crd("", plain), "Thing", "create", "could not find"},
		{"TypeChanged", crd("", plain), crd("", strings.Replace(plain, "type: integer", "x-kubernetes-int-or-string: true", 1)), "", "",
			"it affects only clients that read objects"},
	} {
		result, list := counterexamples(t, tc.old, tc.new)
		found := false
		for _, c := range list {
			if result.Changes[c.Change].Kind != tc.kind || found {
				continue
			}
			found = true
			result := c.NoObject
			if f := c.Found; f != nil {
				request := cmp.Or(f.Subresource, "create")
				if !strings.Contains(string(f.Object), tc.body) || request != tc.request {
					t.Errorf("%s: %s %s, want %s %s", tc.kind, request, f.Object, tc.request, tc.body)
				}
				if result = fmt.Sprint(c.Ignored); c.Ignored == nil {
					result = f.New.Rejection.Message
				}
			}
			if !strings.Contains(result, tc.result) {
				t.Errorf("%s: %q, want %q (%+v)", tc.kind, result, tc.result, c)
			}
		}
		if !found {
			t.Errorf("%s: no counterexample: %+v%s", tc.kind, list, diffText(result))
		}
	}
}

// TestCounterexampleOfUnknownFields: a CRD of v1beta1 that no longer preserves unknown fields rejects such a field.
func TestCounterexampleOfUnknownFields(t *testing.T) {
	crd := func(preserve bool) []byte {
		return fmt.Appendf(nil, "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n"+
			"spec: {group: example.com, preserveUnknownFields: %v, scope: Namespaced, names: {plural: things, kind: Thing}, "+
			"versions: [{name: v1, served: true, storage: true}], validation: {openAPIV3Schema: {type: object}}}\n", preserve)
	}
	result, list := counterexamples(t, crd(true), crd(false))
	if len(list) != 1 || result.Changes[list[0].Change].Kind != "PreserveUnknownFieldsChanged" || list[0].Found == nil ||
		!strings.Contains(list[0].Found.New.Rejection.Message, "unknown field") {
		t.Errorf("%+v%s", list, diffText(result))
	}
}

// TestCounterexampleOfStatus: if the status is a subresource, an update of the status shows changes of its schema.
func TestCounterexampleOfStatus(t *testing.T) {
	testenv.SingleGoroutine(t)
	crd := func(rules, status string) []byte {
		return []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n" +
			"spec: {group: example.com, names: {plural: things, kind: Thing}, scope: Namespaced, versions: [{name: v1, served: true, " +
			"storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, " + rules + "required: [spec], " +
			"properties: {spec: {type: object, required: [a], properties: {a: {type: string, minLength: 1}}}, status: " + status +
			"}}}}]}\n")
	}
	old := crd("", fields("k: {type: integer}"))
	for _, tc := range []struct {
		kind, body string
		new        []byte
	}{
		{"BoundTightened", `"status":{"k":4}`, crd("", fields("k: {type: integer, maximum: 3}"))},
		{"RequiredAdded", `"status":{}`, crd("", "{type: object, required: [k], properties: {k: {type: integer}}}")},
		{"RuleAdded", `"status":{"k":0}`, crd("", fields("k: {type: integer, x-kubernetes-validations: [{rule: self > oldSelf}]}"))},
		{"RuleAdded", `"status":{"k":8}`, crd("x-kubernetes-validations: [{rule: '!has(self.status) || !has(self.status.k) || self.status.k < 8'}], ", fields("k: {type: integer}"))},
		{"PropertyRemoved", `"status":{"k":0}`, crd("", "{type: object}")},
	} {
		result, list := counterexamples(t, old, tc.new)
		for _, c := range list {
			switch f := c.Found; {
			case result.Changes[c.Change].Kind != tc.kind:
			case f == nil:
				t.Errorf("%s: none", tc.kind)
			case f.Subresource != "status" || f.OldObject == nil || !strings.Contains(string(f.Object), tc.body):
				t.Errorf("%s: %s %s, old %s", tc.kind, f.Subresource, f.Object, f.OldObject)
			}
		}
		if len(list) == 0 {
			t.Errorf("%s: no search%s", tc.kind, diffText(result))
		}
	}
}

// TestCounterexampleOfHiddenChanges: if other changes hide the violation of a change, the old CRD with only this change
// rejects the counterexample. If a field has several changes, each has its own object.
func TestCounterexampleOfHiddenChanges(t *testing.T) {
	testenv.SingleGoroutine(t)
	const required = "{type: object, required: [c], properties: {a: {type: integer}, c: {type: string}}, " +
		"x-kubernetes-validations: [{rule: '!has(self.a) || self.a != 7'}, {rule: '!has(self.a) || self.a < 5'}]}"
	const keyed = "l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [%s], items: {type: object, " +
		"required: [%s], properties: {port: {type: integer}, protocol: {type: string, default: TCP}, w: {type: string}}}}"
	for _, tc := range []struct {
		old, new string
		want     map[string]string // pointers of changes, and the specs of their objects
		hidden   string            // the prefix of the pointers of the hidden changes
	}{
		{fields("a: {type: integer}"), required, map[string]string{
			"/required/0": `{}`, "/x-kubernetes-validations/0": `{"a":7}`, "/x-kubernetes-validations/1": `{"a":5}`},
			"/x-kubernetes-validations"},
		{fields("a: {type: integer}"), fields("a: {type: integer, minimum: 0, maximum: 10, x-kubernetes-validations: [{rule: self != 5}]}"),
			map[string]string{"/properties/a/minimum": `{"a":-1}`, "/properties/a/maximum": `{"a":11}`,
				"/properties/a/x-kubernetes-validations/0": `{"a":5}`}, ""},
		{fields("a: {type: string}"), fields(`a: {type: string, x-kubernetes-validations: [{rule: "self != 'bad'"}, {rule: "self.startsWith('x')"}]}`),
			map[string]string{"/properties/a/x-kubernetes-validations/0": `{"a":"bad"}`,
				"/properties/a/x-kubernetes-validations/1": `{"a":""}`}, ""},
		{fields(fmt.Sprintf(keyed, "port, protocol", "port")), fields(fmt.Sprintf(keyed, "port", "port, w")), map[string]string{
			"/properties/l/x-kubernetes-list-map-keys": `{"l":[{"port":0},{"port":0,"protocol":""}]}`,
			"/properties/l/items/required/1":           `{"l":[{"port":0}]}`}, ""},
	} {
		result, list := counterexamples(t, thing(tc.old, ""), thing(tc.new, ""))
		found := map[string]string{}
		for _, c := range list {
			pointer := strings.TrimPrefix(result.Changes[c.Change].SchemaPointer, "/properties/spec")
			if c.Found == nil {
				continue
			}
			found[pointer] = fixture.Spec(c.Found.Object)
			if (c.Alone != nil) != (tc.hidden != "" && strings.HasPrefix(pointer, tc.hidden)) || c.Alone != nil && (c.Alone.Allowed || c.AloneManifest == nil) {
				t.Errorf("%s: %+v, alone %+v", pointer, c.Found.New.Rejection, c.Alone)
			}
		}
		if !maps.Equal(found, tc.want) {
			t.Errorf("to %s: %v, want %v%s", tc.new, found, tc.want, diffText(result))
		}
	}
}

// TestCounterexamplesOfOtherChanges: a rejection because of one change is no counterexample of another.
func TestCounterexamplesOfOtherChanges(t *testing.T) {
	crd := func(spec, status string) []byte {
		return []byte(strings.TrimSuffix(string(thing(spec, "")), "}}}}\n") + ", status: " + status + "}}}, subresources: {status: {}}}\n")
	}
	_, list := counterexamples(t,
		crd(fields("n: {type: integer, default: 1}, m: {type: integer, nullable: true}"), fields("runs: {type: integer}")),
		crd(fields("n: {type: integer, default: 2}, m: {type: integer}"), fields("starts: {type: integer}")))
	found := map[int]bool{}
	for _, c := range list {
		if found[c.Change] = c.Found != nil; c.Found == nil {
			continue
		}
		unknown := strings.Contains(c.Found.New.Rejection.Message, "unknown field")
		if inStatus := c.Found.Subresource == "status"; unknown != inStatus {
			t.Errorf("%s: %s", c.Found.Object, c.Found.New.Rejection.Message)
		}
	}
	if len(list) < 2 || len(found) < 2 {
		t.Errorf("%d counterexamples of %d changes", len(found), len(list))
	}
}
