package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// The answers are those of apiextensions-apiserver v0.37.2, in our order. (An object without metadata never comes there.)
func TestExplainUpdate(t *testing.T) {
	const (
		pair    = `v:{"type":"object","properties":{"a":{"type":"string","pattern":"^x"},"b":{"type":"integer","minimum":5}}`
		mapList = `v:{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"maxItems":2,"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"n":{"type":"integer","minimum":5}}}}`
		keeps   = `v:{"type":"object","x-kubernetes-preserve-unknown-fields":true,"minProperties":5,"properties":{"k":{"type":"string"},"o":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"maxProperties":0}}}`
	)
	for _, c := range []struct {
		name, schema, object, old string
		found, ratcheted          []string
	}{
		// 86
		{"unchanged", pair + `}`, `v:{"a":"q","b":7}`, `v:{"a":"q","b":6}`, nil, []string{`v.a: Invalid value: "q": v.a in body should match '^x'`}},
		{"the rest is validated", pair + `}`, `v:{"a":"q","b":1}`, `v:{"a":"q","b":6}`,
			[]string{`v.b: Invalid value: 1: v.b in body should be greater than or equal to 5`}, []string{`v.a: Invalid value: "q": v.a in body should match '^x'`}},
		{"changed", pair + `}`, `v:{"a":"w","b":6}`, `v:{"a":"q","b":6}`, []string{`v.a: Invalid value: "w": v.a in body should match '^x'`}, nil},
		{"new", pair + `}`, `v:{"a":"w","b":6}`, `v:{"b":6}`, []string{`v.a: Invalid value: "w": v.a in body should match '^x'`}, nil},
		{"the object itself", pair + `,"required":["r"]}`, `v:{"b":6}`, `v:{"b":6}`, nil, []string{`v.r: Required value`}},
		{"the root, without metadata", `{"type":"object","required":["r"],"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`, `{"a":"x"}`, nil, []string{`r: Required value`}},
		{"the root, with metadata", `{"type":"object","required":["r"],"properties":{"a":{"type":"string"},"metadata":{"type":"object"}}}`,
			`{"a":"x","metadata":{"name":"x"}}`, `{"a":"x","metadata":{"name":"x"}}`, []string{`r: Required value`}, nil},
		{"preserved, all declared", keeps, `v:{"k":"x"}`, `v:{"k":"x"}`, nil, []string{`v: Invalid value: 1: v in body should have at least 5 properties`}},
		{"preserved, not declared", keeps, `v:{"k":"x","u":1}`, `v:{"k":"x","u":1}`, []string{`v: Invalid value: 2: v in body should have at least 5 properties`}, nil},
		{"preserved, not declared below", keeps, `v:{"o":{"u":1}}`, `v:{"o":{"u":1}}`,
			[]string{`v: Invalid value: 1: v in body should have at least 5 properties`, `v.o: Too many: 1: must have at most 0 items`}, nil},
		{"an atomic list is compared as a unit", `v:{"type":"array","minItems":5,"items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}`,
			`v:[{"u":1}]`, `v:[{"u":1}]`, nil, []string{`v: Invalid value: 1: v in body should have at least 5 items`}},
		{"a null is not absent", `v:{"type":"object","minProperties":5,"properties":{"a":{"type":"string","nullable":true}}}`,
			`v:{"a":null}`, `v:{}`, []string{`v: Invalid value: 1: v in body should have at least 5 properties`}, nil},
		{"map entries", `v:{"type":"object","additionalProperties":{"type":"integer","minimum":5}}`, `v:{"p":1,"q":2}`, `v:{"p":1,"q":3}`,
			[]string{`v.q: Invalid value: 2: v.q in body should be greater than or equal to 5`}, []string{`v.p: Invalid value: 1: v.p in body should be greater than or equal to 5`}},
		{"atomic maps too", `v:{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"integer","minimum":5}}`, `v:{"p":1,"q":2}`, `v:{"p":1,"q":3}`,
			[]string{`v.q: Invalid value: 2: v.q in body should be greater than or equal to 5`}, []string{`v.p: Invalid value: 1: v.p in body should be greater than or equal to 5`}},
		// 87
		{"required of a changed object", pair + `,"required":["r"]}`, `v:{"b":7}`, `v:{"b":6}`, []string{`v.r: Required value`}, nil},
		{"allOf", pair + `,"allOf":[{"properties":{"b":{"maximum":9}}}]}`, `v:{"a":"x1","b":10}`, `v:{"a":"x","b":10}`,
			[]string{`v.b: Invalid value: 10: v.b in body should be less than or equal to 9`, `<nil>: Invalid value: "": "v" must validate all the schemas (allOf). None validated`}, nil},
		{"anyOf", pair + `,"anyOf":[{"required":["z"]},{"properties":{"b":{"maximum":9}}}]}`, `v:{"a":"x1","b":10}`, `v:{"a":"x","b":10}`,
			[]string{`<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)`, `v.b: Invalid value: 10: v.b in body should be less than or equal to 9`}, nil},
		{"not", pair + `,"not":{"properties":{"b":{"minimum":9}}}}`, `v:{"a":"x1","b":10}`, `v:{"a":"x","b":10}`,
			[]string{`<nil>: Invalid value: "": "v" must not validate the schema (not)`}, nil},
		{"allOf of an unchanged object", pair + `,"allOf":[{"properties":{"b":{"maximum":9}}}]}`, `v:{"b":10}`, `v:{"b":10}`, nil,
			[]string{`v.b: Invalid value: 10: v.b in body should be less than or equal to 9`, `<nil>: Invalid value: "": "v" must validate all the schemas (allOf). None validated`}},
		{"items of an atomic list", `v:{"type":"array","items":{"type":"string","pattern":"^x"}}`, `v:["q","x2"]`, `v:["q","x1"]`,
			[]string{`v[0]: Invalid value: "q": v[0] in body should match '^x'`}, nil},
		{"items of a set", `v:{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string","pattern":"^x"}}`, `v:["q","x"]`, `v:["q"]`,
			[]string{`v[0]: Invalid value: "q": v[0] in body should match '^x'`}, nil},
		{"apiVersion and kind at the root", `{"type":"object","properties":{"kind":{"type":"string","maxLength":1},"apiVersion":{"type":"string","maxLength":1},"v":{"type":"object","properties":{"kind":{"type":"string","maxLength":1}}}}}`,
			`{"apiVersion":"ab","kind":"ab","metadata":{},"v":{"kind":"ab"}}`, `{"apiVersion":"ab","kind":"ab","metadata":{},"v":{"kind":"ab"}}`,
			[]string{`apiVersion: Too long: may not be more than 1 byte`, `kind: Too long: may not be more than 1 byte`}, []string{`v.kind: Too long: may not be more than 1 byte`}},
		{"and below a property without a name", `{"type":"object","properties":{"":{"type":"object","properties":{"kind":{"type":"string","maxLength":1}}}}}`,
			`{"":{"kind":"ab"}}`, `{"":{"kind":"ab"}}`, nil, []string{`kind: Too long: may not be more than 1 byte`}},
		// 88
		{"items of a map list move", mapList, `v:[{"k":"b","n":7},{"k":"a","n":1}]`, `v:[{"k":"a","n":1},{"k":"b","n":6}]`, nil,
			[]string{`v[1].n: Invalid value: 1: v[1].n in body should be greater than or equal to 5`}},
		{"other items of a map list", mapList, `v:[{"k":"a","n":1},{"k":"c","n":1}]`, `v:[{"k":"a","n":1},{"k":"b","n":6}]`,
			[]string{`v[1].n: Invalid value: 1: v[1].n in body should be greater than or equal to 5`}, []string{`v[0].n: Invalid value: 1: v[0].n in body should be greater than or equal to 5`}},
		{"a reordered map list is equal", mapList, `v:[{"k":"b"},{"k":"a"},{"k":"c"}]`, `v:[{"k":"a"},{"k":"b"},{"k":"c"}]`, nil, []string{`v: Too many: 3: must have at most 2 items`}},
		{"a reordered set is not", `v:{"type":"array","x-kubernetes-list-type":"set","maxItems":1,"items":{"type":"string"}}`, `v:["b","a"]`, `v:["a","b"]`,
			[]string{`v: Too many: 2: must have at most 1 item`}, nil},
		// 89
		{"1.0 is not 1", `v:{"type":"number","minimum":5}`, `v:1.0`, `v:1`, []string{`v: Invalid value: 1: v in body should be greater than or equal to 5`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileText(t, c.schema, Options{})
			d, root := parseText(t, c.object)
			old, err := d.Parse([]byte(oldText(c.old)), tree.Old, tree.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var pairs Pairs
			pairs.Init(d, nil)
			found, ratcheted := p.ExplainUpdate(d, root, pairs.Root(p.Root, root, old), At{})
			if !slices.Equal(texts(found), c.found) {
				t.Errorf("found %q\nwant  %q", texts(found), c.found)
			}
			if !slices.Equal(texts(ratcheted), c.ratcheted) {
				t.Errorf("ratcheted %q\nwant     %q", texts(ratcheted), c.ratcheted)
			}
			if all := p.Explain(d, root, At{}); len(all) != len(found)+len(ratcheted) {
				t.Errorf("a create finds %q", texts(all))
			}
		})
	}
}

func oldText(text string) string {
	if rest, ok := strings.CutPrefix(text, "v:"); ok {
		return `{"v":` + rest + `}`
	}
	return text
}

// TestExplainStatus: a status update validates only the status. Paths contain status, texts do not.
func TestExplainStatus(t *testing.T) {
	const schema = `{"type":"object","required":["other"],"properties":{"spec":{"type":"integer","minimum":5},` +
		`"status":{"type":"object","nullable":true,"enum":[{"b":1}],"properties":{"b":{"type":"integer","minimum":5},"kind":{"type":"string","maxLength":1}}}}}`
	const notInEnum = `status: Unsupported value: `
	for _, c := range []struct {
		name, object, old string
		found, ratcheted  []string
	}{
		{"changed", `{"spec":1,"status":{"b":2}}`, `{"spec":1,"status":{"b":3}}`, []string{notInEnum + `{"b":2}: supported values: "{\"b\":1}"`, `status.b: Invalid value: 2: b in body should be greater than or equal to 5`}, nil},
		{"unchanged", `{"spec":1,"status":{"b":2}}`, `{"spec":1,"status":{"b":2}}`, nil, []string{notInEnum + `{"b":2}: supported values: "{\"b\":1}"`, `status.b: Invalid value: 2: b in body should be greater than or equal to 5`}},
		{"new", `{"spec":1,"status":{"b":2}}`, `{"spec":1}`, []string{notInEnum + `{"b":2}: supported values: "{\"b\":1}"`, `status.b: Invalid value: 2: b in body should be greater than or equal to 5`}, nil},
		{"none", `{"spec":1}`, `{"spec":1,"status":{"b":2}}`, nil, nil},
		{"null instead of none", `{"status":null}`, `{}`, nil, []string{notInEnum + `null: supported values: "{\"b\":1}"`}},
		{"null instead of something", `{"status":null}`, `{"status":{}}`, []string{notInEnum + `null: supported values: "{\"b\":1}"`}, nil},
		{"kind of the status", `{"status":{"b":6,"kind":"ab"}}`, `{"status":{"b":5,"kind":"ab"}}`,
			[]string{notInEnum + `{"b":6,"kind":"ab"}: supported values: "{\"b\":1}"`, `status.kind: Too long: may not be more than 1 byte`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileText(t, schema, Options{StatusSubresource: true})
			d, root := parseText(t, c.object)
			old, err := d.Parse([]byte(c.old), tree.Old, tree.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var pairs Pairs
			pairs.Init(d, nil)
			found, ratcheted := p.ExplainStatus(d, pairs.Root(p.Root, root, old), At{})
			if !slices.Equal(texts(found), c.found) {
				t.Errorf("found %q\nwant  %q", texts(found), c.found)
			}
			if !slices.Equal(texts(ratcheted), c.ratcheted) {
				t.Errorf("ratcheted %q\nwant     %q", texts(ratcheted), c.ratcheted)
			}
			for _, v := range append(found, ratcheted...) {
				if v.Path.Pointer() != "/"+strings.ReplaceAll(v.Field, ".", "/") || !strings.HasPrefix(v.Schema, "/properties/status") {
					t.Errorf("%s is at %s, by %s", v.Field, v.Path.Pointer(), v.Schema)
				}
			}
		})
	}
}
