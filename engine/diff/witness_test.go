package diff_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestCounterexampleOfWitness: a value that the comparison of the schemas finds is a counterexample, at each kind of
// place.
func TestCounterexampleOfWitness(t *testing.T) {
	var words []string
	for i := range 1500 {
		words = append(words, fmt.Sprint("w", i))
	}
	enum := func(words []string) string { return "{type: string, enum: [" + strings.Join(words, ", ") + "]}" }
	text := func(keywords string) string { return "{type: string, " + keywords + "}" }
	places := map[string]string{ // where the schema %s is
		"a field":                "%s",
		"an item":                "{type: array, items: %s}",
		"a value of a map":       "{type: object, additionalProperties: %s}",
		"a field of a map value": "{type: object, additionalProperties: {type: object, required: [k], properties: {k: %s}}}",
		"an item of a map value": "{type: object, additionalProperties: {type: array, minItems: 1, items: %s}}",
	}
	for _, tc := range []struct{ kind, old, new string }{
		{"PatternChanged", text("pattern: '^a'"), text("pattern: '^a$'")},
		{"PatternChanged", text("pattern: 'a'"), text("pattern: '^a'")},
		{"PatternChanged", text("pattern: 'b$'"), text("pattern: '^b$'")},
		{"PatternChanged", text("pattern: '^[a-z]{1,63}$'"), text("pattern: '^[a-z]{1,62}$'")},
		{"PatternChanged", text("allOf: [{pattern: '^a'}]"), text("allOf: [{pattern: '^a$'}]")},
		{"PatternAdded", text("minLength: 3, pattern: '^[a-c]*$'"),
			text("minLength: 3, pattern: '^[a-c]*$', allOf: [{pattern: '^([a-c]{4})*$|^[ab]'}]")},
		{"PatternChanged", "{x-kubernetes-int-or-string: true, pattern: '^[0-9]+%?$'}",
			"{x-kubernetes-int-or-string: true, pattern: '^[0-9]{1,9}%?$'}"},
		{"BoundTightened", text("pattern: '^([a-z0-9]{4}-)*[a-z]{2}$'"),
			text("pattern: '^([a-z0-9]{4}-)*[a-z]{2}$', maxLength: 30")},
		{"BoundTightened", text("maxLength: 9000"), text("maxLength: 5000")},
		{"EnumAdded", text("minLength: 2, maxLength: 2"), text("minLength: 2, maxLength: 2, enum: [aa, bb, ab, ba]")},
		{"EnumValueRemoved", enum(words), enum(words[:1490])},
	} {
		for name, place := range places {
			old, new := strings.Replace(place, "%s", tc.old, 1), strings.Replace(place, "%s", tc.new, 1)
			result, list := counterexamples(t, thing(fields("f: "+old), ""), thing(fields("f: "+new), ""))
			for _, c := range list {
				if change := result.Changes[c.Change]; c.Found == nil || change.Kind != tc.kind {
					t.Errorf("%s to %s in %s: %s, found %+v%s", tc.old, tc.new, name, change.Kind, c.Found, change.Message)
				}
			}
			if len(list) == 0 {
				t.Errorf("%s to %s in %s: no search%s", tc.old, tc.new, name, diffText(result))
			}
		}
	}
}
