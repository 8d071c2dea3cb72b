package diffs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// plant is an incompatible change of a schema as it is generated.
type plant struct {
	kind  string
	apply func()
}

// plants returns the incompatible changes of a schema and of all schemas below it.
func (m *maker) plants(s object) (all []plant) {
	add := func(kind string, apply func()) { all = append(all, plant{kind, apply}) }
	switch s["type"] {
	case "string":
		m.stringPlants(s, add)
	case "integer":
		m.integerPlants(s, add)
	case "number":
		add("maximum of a number", func() { s["maximum"] = m.number(s, "maximum", 1) - 1; delete(s, "default") })
	case "array":
		if t := s["x-kubernetes-list-type"]; t == "set" || t == "map" {
			m.uniquePlants(s, add)
			return all
		}
		add("maxItems", func() { s["maxItems"] = m.number(s, "maxItems", 4) - 1 })
		add("minItems", func() { s["minItems"] = 1 })
		if t := s["items"].(object)["type"]; t != "object" && t != "array" {
			add("set", func() { s["x-kubernetes-list-type"] = "set" })
		}
	case "object":
		m.objectPlants(s, add)
		m.transitionPlants(s, add)
	}
	for _, name := range slices.Sorted(maps.Keys(properties(s))) {
		all = append(all, m.plants(properties(s)[name].(object))...)
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		if below, ok := s[keyword].(object); ok {
			all = append(all, m.plants(below)...)
		}
	}
	return all
}

func (m *maker) stringPlants(s object, add func(string, func())) {
	withoutDefault := func(apply func()) func() { return func() { apply(); delete(s, "default") } }
	enum, _ := s["enum"].([]any)
	plain := enum == nil && s["pattern"] == nil && s["format"] == nil
	if plain {
		add("maxLength", withoutDefault(func() { s["maxLength"] = m.number(s, "maxLength", 8) - 1 }))
		add("minLength", withoutDefault(func() { s["minLength"] = m.number(s, "minLength", 0) + 1 }))
		add("new pattern", withoutDefault(func() { s["pattern"] = "^[x-z]" }))
		add("new enum", withoutDefault(func() { s["enum"] = []any{"ab", "abc"} }))
		add("new rule", withoutDefault(func() {
			s["x-kubernetes-validations"] = []any{object{"rule": "!self.startsWith('a')"}}
		}))
	}
	if plain && s["maxLength"] == nil {
		add("new format", withoutDefault(func() { s["format"] = "ipv4" }))
		add("type", withoutDefault(func() { s["type"] = "integer"; delete(s, "minLength") }))
	}
	if len(enum) > 1 {
		add("enum", withoutDefault(func() { s["enum"] = enum[1:] }))
	}
	for _, p := range patterns {
		if s["pattern"] == p.forms[0] {
			add("pattern", withoutDefault(func() { s["pattern"] = p.stricter }))
		}
	}
}

func (m *maker) integerPlants(s object, add func(string, func())) {
	withoutDefault := func(apply func()) func() { return func() { apply(); delete(s, "default") } }
	if enum, ok := s["enum"].([]any); ok {
		add("enum", withoutDefault(func() { s["enum"] = enum[:len(enum)-1] }))
		add("bound in an enum", withoutDefault(func() { s["maximum"] = m.most(enum) - 1 }))
		return
	}
	low, high := m.number(s, "minimum", 0), m.number(s, "maximum", 0)
	add("maximum", withoutDefault(func() { s["maximum"] = high - 2 }))
	add("minimum", withoutDefault(func() { s["minimum"] = low + 1 }))
	add("multipleOf", withoutDefault(func() { s["multipleOf"] = 2 }))
	add("new rule", withoutDefault(func() {
		s["x-kubernetes-validations"] = append(listOf(s["x-kubernetes-validations"]), object{"rule": fmt.Sprintf("self != %d", (low+high)/2)})
	}))
	if rules := listOf(s["x-kubernetes-validations"]); len(rules) > 0 {
		add("rule", withoutDefault(func() { rules[0] = object{"rule": fmt.Sprintf("self < %d", high-1)} }))
	}
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

func (m *maker) objectPlants(s object, add func(string, func())) {
	if s["additionalProperties"] != nil {
		add("maxProperties of a map", func() { s["maxProperties"] = m.number(s, "maxProperties", 3) - 1 })
		return
	}
	var optional, used []string // used: operators, rules or bounds of the object read the presence of the field
	around := clone(s)
	delete(around, "properties")
	mentions := string(text(around))
	isChoice := s["oneOf"] != nil || s["anyOf"] != nil || s["not"] != nil || s["x-kubernetes-validations"] != nil || s["maxProperties"] != nil
	for _, name := range slices.Sorted(maps.Keys(properties(s))) {
		p := properties(s)[name].(object)
		switch {
		case slices.Contains(listOf(s["required"]), any(name)):
			if p["default"] != nil {
				add("default of a required field removed", func() { delete(p, "default") })
			}
		case p["default"] != nil:
		case strings.Contains(mentions, name) || s["maxProperties"] != nil:
			used = append(used, name)
		default:
			optional = append(optional, name)
		}
	}
	if isChoice {
		m.defaultPlants(s, used, add)
		return
	}
	for _, name := range optional {
		add("required", func() { s["required"] = append(listOf(s["required"]), name) })
		add("property removed", func() { delete(properties(s), name) })
		add("not", func() { s["not"] = requires(name) })
	}
	if len(optional) > 1 {
		add("oneOf", func() { s["oneOf"] = []any{requires(optional[0]), requires(optional[1])} })
		add("rule of an object", func() {
			s["x-kubernetes-validations"] = []any{object{"rule": fmt.Sprintf("has(self.%s) || ! has(self.%s)", optional[0], optional[1])}}
		})
		add("maxProperties", func() { s["maxProperties"] = max(1, len(properties(s))-1) })
	}
}

// defaultPlants adds defaults to fields whose presence matters, and changes those that rules read.
func (m *maker) defaultPlants(s object, used []string, add func(string, func())) {
	if enabled, ok := properties(s)["enabled"].(object); ok {
		add("default changed", func() { enabled["default"] = true })
		return
	}
	rule := string(text(s["x-kubernetes-validations"]))
	for _, name := range used {
		p := properties(s)[name].(object)
		// A rule or clause that allows a field only with another one is violated by the default of the first.
		alone := strings.Contains(rule, "|| has(self."+name+")") || s["anyOf"] != nil && !strings.Contains(string(text(s["anyOf"])), `"not":{"required":["`+name+`"]}`)
		if !alone && p["type"] != "object" && p["type"] != "array" {
			add("default added", func() { p["default"] = m.value(p, 0) })
		}
	}
}

// pick returns a plant: first a kind, often one of defaults, then one of the kind.
func (m *maker) pick(all []plant) *plant {
	kinds := map[string][]int{}
	var defaults []string
	for i := range all {
		kinds[all[i].kind] = append(kinds[all[i].kind], i)
	}
	if len(kinds) == 0 {
		return nil
	}
	kind := generate.Pick(m.Rand, slices.Sorted(maps.Keys(kinds)))
	for name := range kinds {
		if strings.HasPrefix(name, "default") {
			defaults = append(defaults, name)
		}
	}
	if slices.Sort(defaults); len(defaults) > 0 && m.Chance(35) {
		kind = generate.Pick(m.Rand, defaults)
	}
	return &all[generate.Pick(m.Rand, kinds[kind])]
}
