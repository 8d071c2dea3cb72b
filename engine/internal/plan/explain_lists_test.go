package plan

import (
	"slices"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/violation"
)

func TestExplainLists(t *testing.T) {
	for _, c := range []struct {
		name, schema, object string
		want                 []string
	}{
		{"scalars, second occurrence only", `v:{"type":"array","x-kubernetes-list-type":"set","items":{"type":"number"}}`, `v:[1,1.0,1,2.5,2.5,2.5]`,
			[]string{`v[2]: Duplicate value: 1`, `v[4]: Duplicate value: 2.5`}},
		{"compounds by their JSON", `v:{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object"}}`, `v:[{"a":1,"b":"x"},{"b":"x","a":1.0},[1],[1]]`,
			[]string{`v[1]: Duplicate value: {"a":1,"b":"x"}`, `v[3]: Duplicate value: [1]`}},
		{"map keys in brackets", `v:{"type":"object","additionalProperties":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}`, `v:{"a.b/c":["b","b"]}`,
			[]string{`v[a.b/c][1]: Duplicate value: "b"`}},
		{"one key: 1 is not 1.0", oneKey, `v:[{"k":1},{"k":1.0},{"k":1}]`, []string{`v[2]: Duplicate value: {"k":1}`}},
		{"one key: unspecified", oneKey, `v:[{"d":1},null,{"k":null},{}]`, []string{`v[1]: Duplicate value: {}`}},
		{"one key: compound", oneKey, `v:[{"k":[1]},{"k":[1.0]}]`, []string{`v[1]: Duplicate value: {"k":[1]}`}},
		{"two keys: 1 is 1.0", twoKeys, `v:[{"a":1,"b":"x"},{"a":1.0,"b":"x"},{"a":1,"b":"y"}]`, []string{`v[1]: Duplicate value: {"a":1,"b":"x"}`}},
		{"two keys: unspecified", twoKeys, `v:[{},null,{"a":1}]`, []string{`v[1]: Duplicate value: {}`}},
		{"not an object", oneKey, `v:[{"k":1},1,{"k":1}]`, []string{`v[1]: Invalid value: 1: must be an object for an array of list-type map`}},
		{"nested", `v:{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"},"s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}}`,
			`v:[{"k":"a","s":["x","x"]}]`, []string{`v[0].s[1]: Duplicate value: "x"`}},
		{"wrong kinds", oneKey, `v:{"k":[1,1]}`, nil},
		{"a single item", oneKey, `v:[{}]`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileText(t, c.schema, Options{})
			d, root := parseText(t, c.object)
			got := p.ExplainLists(d, root, At{})
			if !slices.Equal(texts(got), c.want) {
				t.Errorf("got  %q\nwant %q", texts(got), c.want)
			}
			for _, v := range got {
				if d.Finder().Lookup(root, v.Path) != v.Node || v.Step != violation.List {
					t.Errorf("path %s, node %d, step %s", v.Path, v.Node, v.Step)
				}
			}
		})
	}
}

const (
	oneKey  = `v:{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"number"}}}}`
	twoKeys = `v:{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"],"items":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"}}}}`
)
