package openapi

import (
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// merged returns a schema with everything that server-side apply distinguishes: lists by key, sets, atomic lists,
// granular and atomic maps, and unknown fields. There are few values, so that owners conflict.
func (m *maker) merged(depth int) *jsontree.Node {
	few := func() *jsontree.Node {
		return jsontree.Obj("type", "string", "enum", jsontree.Arr(jsontree.Str("x"), jsontree.Str("y"), jsontree.Str("z")))
	}
	kind := m.IntN(12)
	if depth == 0 {
		kind = 6 + m.IntN(6)
	}
	switch kind {
	case 0, 1:
		return jsontree.Obj("type", "object", "properties", m.members(depth))
	case 2, 3:
		element := jsontree.Obj("type", "object", "properties", m.members(depth), "required", jsontree.Arr(jsontree.Str("k")))
		element.Get("properties").Set("k", few())
		keys := jsontree.Arr(jsontree.Str("k"))
		if m.Chance(30) {
			element.Get("properties").Set("n", jsontree.Obj("type", "integer", "enum", jsontree.Arr(jsontree.Int(1), jsontree.Int(2)), "default", jsontree.Int(1)))
			keys.Items = append(keys.Items, jsontree.Str("n"))
		}
		return jsontree.Obj("type", "array", "items", element, "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", keys)
	case 4:
		return jsontree.Obj("type", "object", "additionalProperties", m.merged(depth-1))
	case 5:
		return jsontree.Obj("type", "object", "properties", m.members(depth), "x-kubernetes-map-type", generate.Pick(m.Rand, []string{"atomic", "granular"}))
	case 6:
		return jsontree.Obj("type", "array", "items", few(), "x-kubernetes-list-type", "set")
	case 7:
		return jsontree.Obj("type", "array", "items", few(), "x-kubernetes-list-type", "atomic")
	case 8:
		return jsontree.Obj("type", "array", "items", few())
	case 9:
		return jsontree.Obj("type", "object", "x-kubernetes-preserve-unknown-fields", true, "nullable", m.Chance(30))
	case 10:
		return jsontree.Obj("x-kubernetes-int-or-string", true)
	}
	return few()
}

func (m *maker) members(depth int) *jsontree.Node {
	members := jsontree.Obj()
	for _, name := range []string{"a", "b", "c"} {
		if m.Chance(70) {
			members.Set(name, m.merged(depth-1))
		}
	}
	return members
}
