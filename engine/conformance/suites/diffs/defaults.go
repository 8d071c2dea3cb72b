package diffs

import "github.com/crdeval/crdeval/engine/conformance/generate"

// A rule with oldSelf reads this field, which has a default.
const sinceField = "since"

// addTransition adds a field with a default to an object, and a rule that reads the old value of the field.
func (m *maker) addTransition(s object) {
	if s["maxProperties"] != nil || s["x-kubernetes-validations"] != nil {
		return
	}
	since := object{"type": "integer", "default": 5}
	properties(s)[sinceField] = since
	switch m.IntN(3) {
	case 0:
		since["x-kubernetes-validations"] = []any{object{"rule": "self >= oldSelf"}}
	case 1:
		s["x-kubernetes-validations"] = []any{object{"rule": "! has(self.since) || ! has(oldSelf.since) || self.since >= oldSelf.since"}}
	default:
		s["x-kubernetes-validations"] = []any{object{"rule": "has(self.since) || ! has(oldSelf.since)"}}
	}
}

// transitionPlants changes the default of such a field.
func (m *maker) transitionPlants(s object, add func(string, func())) {
	since, ok := properties(s)[sinceField].(object)
	switch {
	case !ok || since["default"] == nil:
	case string(text(s["x-kubernetes-validations"])) == string(text([]any{object{"rule": "has(self.since) || ! has(oldSelf.since)"}})):
		add("default of a transition rule removed", func() { delete(since, "default") })
	default:
		add("default of a transition rule", func() { since["default"] = 3 })
	}
}

// unique returns a list whose items are unique by values with a default.
func (m *maker) unique() object {
	item := object{"type": "object", "properties": object{
		"name": object{"type": "string", "default": "a"}, "zone": object{"type": "integer", "default": 1},
	}}
	if m.Chance(50) {
		item["x-kubernetes-map-type"] = "atomic"
		return object{"type": "array", "x-kubernetes-list-type": "set", "items": item}
	}
	return object{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name", "zone"}, "items": item}
}

// uniquePlants changes a default by which the items of a list are unique.
func (m *maker) uniquePlants(s object, add func(string, func())) {
	name := generate.Pick(m.Rand, []string{"name", "zone"})
	p := properties(s["items"].(object))[name].(object)
	add("default of unique items", func() { p["default"] = map[string]any{"name": "b", "zone": 2}[name] })
}
