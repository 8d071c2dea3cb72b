package diff_test

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/internal/fixture"
)

// TestCounterexampleOfDefaults: a default that makes an accepted write fail is breaking, and its counterexample is found
// by the short search of Diff.Undecided too.
func TestCounterexampleOfDefaults(t *testing.T) {
	const (
		same   = "x-kubernetes-validations: [{rule: self == oldSelf}]"
		grows  = "x-kubernetes-validations: [{rule: self >= oldSelf}]"
		keeps  = "x-kubernetes-validations: [{rule: 'has(self.m) || !has(oldSelf.m)'}]"
		known  = "x-kubernetes-validations: [{rule: '!oldSelf.hasValue() || !has(oldSelf.value().m) || has(self.m)', optionalOldSelf: true}]"
		keyed  = "type: array, maxItems: 4, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: "
		setOf  = "type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic, "
		key    = "k: {type: string, maxLength: 9}"
		atMost = "x-kubernetes-validations: [{rule: '!has(self.l) || self.l.all(x, x.w <= self.max)'}]"
	)
	rule := func(text string) string {
		return "x-kubernetes-validations: [{rule: '" + strings.ReplaceAll(text, "'", "''") + "'}]"
	}
	x, z := ", default: x", ", default: z"
	for _, tc := range []struct {
		name     string
		schema   string // with §, which old and new replace
		old, new string
		object   string // the spec of the counterexample, "" for any
		update   bool
	}{
		{"transition of the value", fields("m: {type: string§, " + same + "}"), x, z, `{"f":{}}`, true},
		{"transition of the value", fields("m: {type: string§, " + same + "}"), "", z, `{"f":{}}`, true},
		{"transition of the parent", "{type: object, properties: {m: {type: string§}}, " + rule("self.m == oldSelf.m") + "}", x, z,
			`{"f":{}}`, true},
		{"transition of the spec", "{type: object, properties: {a: {type: object, properties: {m: {type: string§}}}}, " + same + "}",
			x, z, `{"f":{"a":{}}}`, true},
		{"presence", "{type: object, properties: {m: {type: string§}}, " + keeps + "}", x, "", `{"f":{}}`, true},
		{"presence, optional", "{type: object, properties: {m: {type: string§}}, " + known + "}", x, "", `{"f":{}}`, true},
		{"optional", fields("m: {type: string§, x-kubernetes-validations: [{rule: '!oldSelf.hasValue() || self == oldSelf.value()', optionalOldSelf: true}]}"),
			x, z, `{"f":{}}`, true},
		{"deep", fields("a: " + fields("b: "+fields("m: {type: integer, default: §, "+grows+"}"))), "3", "1", `{"f":{"a":{"b":{}}}}`, true},
		{"a list of type map in one", "{" + keyed + "[k], items: {type: object, required: [k], properties: {" + key + ", l: {" + keyed +
			"[j], items: {type: object, required: [j], properties: {j: {type: string, maxLength: 9}, m: {type: integer, default: §, " + grows + "}}}}}}}",
			"4", "3", `{"f":[{"k":"","l":[{"j":""}]}]}`, true},
		{"presence in a list", "{" + keyed + "[k], items: {type: object, required: [k], properties: {" + key + ", m: {type: string§}}, " + keeps + "}}",
			x, "", `{"f":[{"k":""}]}`, true},
		{"values of a map", "{type: object, maxProperties: 4, additionalProperties: {type: object, properties: {m: {type: string, maxLength: 9§, " + same + "}}}}",
			"", z, `{"f":{"a":{}}}`, true},
		{"the default of an object", fields("o: {type: object, default: {m: §}, properties: {m: {type: string, " + same + "}}}"), "x", "z",
			`{"f":{}}`, true},
		{"items that the spec compares", "{type: object, properties: {l: {type: array, maxItems: 4, items: {type: object, properties: {m: {type: string, maxLength: 9§}}}}}, " +
			rule("!has(oldSelf.l) || !has(self.l) || self.l == oldSelf.l") + "}", x, z, `{"f":{"l":[{}]}}`, true},
		{"a sibling", "{type: object, required: [mode], properties: {mode: {type: string, enum: [free, fixed]}, m: {type: string§}}, " +
			rule("self.mode != 'fixed' || oldSelf.mode != 'fixed' || self.m == oldSelf.m") + "}", x, z, `{"f":{"mode":"fixed"}}`, true},
		{"a shorter list", "{type: object, properties: {l: {type: array, maxItems: 5, default: [§], items: {type: string, maxLength: 9}}}, " +
			rule("self.l.size() >= oldSelf.l.size()") + "}", "a, b", "a", `{"f":{}}`, true},

		{"equal keys", "{" + keyed + "[k, p], items: {type: object, required: [k], properties: {" + key + ", p: {type: integer, default: §}}}}",
			"1", "2", `{"f":[{"k":""},{"k":"","p":2}]}`, false},
		{"equal keys of three", "{minItems: 3, " + keyed + "[k, p], items: {type: object, required: [k], properties: {" + key + ", p: {type: integer, default: §}}}}",
			"1", "2", ``, false},
		{"equal keys of an enum", "{" + keyed + "[port, protocol], items: {type: object, required: [port], properties: {port: {type: integer}, " +
			"protocol: {type: string, enum: [TCP, UDP, SCTP], default: §}}}}", "TCP", "SCTP", `{"f":[{"port":0},{"port":0,"protocol":"SCTP"}]}`, false},
		{"equal items", "{" + setOf + "properties: {k: {type: string}, p: {type: integer, default: §}}}}", "1", "200", `{"f":[{},{"p":200}]}`, false},
		{"equal items", "{" + setOf + "properties: {k: {type: string}, p: {type: integer§}}}}", "", ", default: 200", `{"f":[{},{"p":200}]}`, false},
		{"equal items in values of a map", "{type: object, additionalProperties: {" + setOf +
			"required: [k], properties: {k: {type: integer, minimum: 5}, o: {type: object, default: {}, properties: {p: {type: string, enum: [u, v], default: §}}}}}}}",
			"u", "v", `{"f":{"a":[{"k":5},{"k":5,"o":{"p":"v"}}]}}`, false},
		{"items that a rule compares", "{type: object, properties: {l: {type: array, maxItems: 9, items: {type: object, properties: {p: {type: integer, default: §}}}}}, " +
			rule("!has(self.l) || self.l.all(x, self.l.exists_one(y, x.p == y.p))") + "}", "80", "443", `{"f":{"l":[{},{"p":443}]}}`, false},

		{"a bound in a sibling", "{type: object, required: [max], properties: {max: {type: integer, minimum: 0}, l: {type: array, maxItems: 9, items: " +
			"{type: object, properties: {w: {type: integer, default: §}}}}}, " + atMost + "}", "1", "99", ``, false},
		{"a greater sibling", "{type: object, properties: {min: {type: integer, default: 1}, max: {type: integer, default: §}}, " +
			rule("self.min <= self.max") + "}", "10", "4", `{"f":{"min":5}}`, false},
		{"a longer sibling", "{type: object, properties: {s: {type: string, default: x}, w: {type: integer, default: §}}, " +
			rule("size(self.s) <= self.w") + "}", "3", "2", `{"f":{"s":"aaa"}}`, false},
		{"three siblings", "{type: object, properties: {a: {type: boolean, default: false}, b: {type: boolean, default: false}, c: {type: boolean, default: §}}, " +
			rule("!(self.a && self.b && self.c)") + "}", "false", "true", `{"f":{"a":true,"b":true}}`, false},
		{"a sum", "{type: object, properties: {a: {type: integer}, b: {type: integer}, c: {type: integer}, d: {type: integer, default: §}}, " +
			rule("!has(self.a) || !has(self.b) || !has(self.c) || self.a + self.b + self.c + self.d != 1234") + "}", "0", "777", ``, false},
		{"a value in not", "{type: object, properties: {a: {type: integer}, b: {type: integer§}}, not: {required: [a, b], properties: {a: {enum: [7]}, b: {enum: [9]}}}}",
			"", ", default: 9", `{"f":{"a":7}}`, false},
		{"a value in anyOf", "{type: object, properties: {a: {type: integer, default: §}, b: {type: integer, default: 20}}, " +
			"anyOf: [{properties: {a: {maximum: 5}}}, {properties: {b: {minimum: 10}}}]}", "1", "9", ``, false},
		{"null in an object", "{type: object, minProperties: 1, properties: {a: {type: string§}}}", ", nullable: true", "", `{"f":{"a":null}}`, false},
		{"null in a required field", "{type: object, required: [a], properties: {a: {type: string§}}}", ", nullable: true", "", `{"f":{"a":null}}`, false},
		{"null with a default", "{type: object, properties: {a: {type: integer, default: 9§}, b: {type: integer}}, " +
			rule("!has(self.a) || self.a < 5 || has(self.b)") + "}", ", nullable: true", "", `{"f":{"a":null}}`, false},
	} {
		old := thing(fields("f: "+strings.ReplaceAll(tc.schema, "§", tc.old)), "")
		new := thing(fields("f: "+strings.ReplaceAll(tc.schema, "§", tc.new)), "")
		short := diff.SearchOptions{Tries: diff.UndecidedTries, Undecided: true}
		for _, o := range []diff.SearchOptions{short, {}} {
			result, list := counterexamplesWith(t, old, new, o)
			if o.Undecided && len(list) == 0 && !result.Undecided() && result.Class == diff.Breaking {
				continue // decided without a search
			}
			switch {
			case result.Class != diff.Breaking || len(list) != 1 || list[0].Found == nil:
				t.Errorf("%s, %q to %q: %+v%s", tc.name, tc.old, tc.new, list, diffText(result))
			case tc.object != "" && fixture.Spec(list[0].Found.Object) != tc.object:
				t.Errorf("%s, %q to %q: %s, want %s", tc.name, tc.old, tc.new, fixture.Spec(list[0].Found.Object), tc.object)
			case (list[0].Found.OldObject != nil) != tc.update:
				t.Errorf("%s, %q to %q: update of %s", tc.name, tc.old, tc.new, list[0].Found.OldObject)
			}
		}
	}
}
