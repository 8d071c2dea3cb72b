package openapi

import (
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/tree"
)

// merged returns a schema with everything that server-side apply distinguishes: lists by key, sets, atomic lists,
// granular and atomic maps, and unknown fields. There are few values, so that owners conflict.
func (m *maker) merged(depth int) *tree.Node {
	few := func() *tree.Node {
		return tree.Obj("type", "string", "enum", tree.Arr(tree.Str("x"), tree.Str("y"), tree.Str("z")))
	}
	kind := m.IntN(12)
	if depth == 0 {
		kind = 6 + m.IntN(6)
	}
	switch kind {
	case 0, 1:
		return tree.Obj("type", "object", "properties", m.members(depth))
	case 2, 3:
		element := tree.Obj("type", "object", "properties", m.members(depth), "required", tree.Arr(tree.Str("k")))
		element.Get("properties").Set("k", few())
		keys := tree.Arr(tree.Str("k"))
		if m.Chance(30) {
			element.Get("properties").Set("n", tree.Obj("type", "integer", "enum", tree.Arr(tree.Int(1), tree.Int(2)), "default", tree.Int(1)))
			keys.Items = append(keys.Items, tree.Str("n"))
		}
		return tree.Obj("type", "array", "items", element, "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", keys)
	case 4:
		return tree.Obj("type", "object", "additionalProperties", m.merged(depth-1))
	case 5:
		return tree.Obj("type", "object", "properties", m.members(depth), "x-kubernetes-map-type", generate.Pick(m.Rand, []string{"atomic", "granular"}))
	case 6:
		return tree.Obj("type", "array", "items", few(), "x-kubernetes-list-type", "set")
	case 7:
		return tree.Obj("type", "array", "items", few(), "x-kubernetes-list-type", "atomic")
	case 8:
		return tree.Obj("type", "array", "items", few())
	case 9:
		return tree.Obj("type", "object", "x-kubernetes-preserve-unknown-fields", true, "nullable", m.Chance(30))
	case 10:
		return tree.Obj("x-kubernetes-int-or-string", true)
	}
	return few()
}

func (m *maker) members(depth int) *tree.Node {
	members := tree.Obj()
	for _, name := range []string{"a", "b", "c"} {
		if m.Chance(70) {
			members.Set(name, m.merged(depth-1))
		}
	}
	return members
}
