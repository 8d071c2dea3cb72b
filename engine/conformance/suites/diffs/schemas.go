package diffs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// object is a JSON object: a schema, or a value of it.
type object = map[string]any

// maker generates schemas, values and changes.
type maker struct{ generate.Rand }

const apiGroup = "example.com"

// crd returns a CRD with a schema for spec.
func crd(spec object) []byte {
	return text(object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "things." + apiGroup},
		"spec": object{
			"group": apiGroup, "scope": "Cluster", "names": object{"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
			"versions": []any{object{"name": "v1", "served": true, "storage": true, "schema": object{
				"openAPIV3Schema": object{"type": "object", "properties": object{"spec": spec}}}}},
		},
	})
}

func text(v any) []byte {
	made, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return made
}

func clone(s object) object {
	var c object
	if err := json.Unmarshal(text(s), &c); err != nil {
		panic(err)
	}
	return c
}

// schema returns an object with some fields.
func (m *maker) schema(depth int) object {
	if depth > 0 && m.Chance(45) {
		return m.choice(depth)
	}
	return m.plainObject(depth)
}

var fieldNames = []string{"alpha", "beta", "gamma", "delta", "size", "mode", "port", "zone"}

func (m *maker) names(n int) []string {
	names := slices.Clone(fieldNames)
	m.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:n]
}

func (m *maker) plainObject(depth int) object {
	properties, required := object{}, []any{}
	for _, name := range m.names(m.Between(2, 4)) {
		p := m.node(depth - 1)
		properties[name] = p
		switch {
		case m.Chance(25) && m.setDefault(p):
			if m.Chance(30) {
				required = append(required, name)
			}
		case m.Chance(30):
			required = append(required, name)
		}
	}
	s := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// choice returns an object in which the presence of fields matters.
func (m *maker) choice(depth int) object {
	names := m.names(3)
	a, b, other := names[0], names[1], names[2]
	s := object{"type": "object", "properties": object{a: m.leaf(), b: m.leaf(), other: m.node(depth - 2)}}
	switch m.IntN(7) {
	case 0:
		s["oneOf"] = []any{requires(a), requires(b)}
	case 1:
		s["not"] = requires(a, b)
	case 2:
		s["x-kubernetes-validations"] = []any{object{"rule": fmt.Sprintf("! has(self.%s) || ! has(self.%s)", a, b)}}
	case 3:
		s["maxProperties"] = 1
	case 4:
		s["anyOf"] = []any{object{"not": requires(b)}, requires(a)}
	case 5:
		s["x-kubernetes-validations"] = []any{object{"rule": fmt.Sprintf("! has(self.%s) || has(self.%s)", b, a)}}
	default:
		s["properties"].(object)["enabled"] = object{"type": "boolean", "default": false}
		s["x-kubernetes-validations"] = []any{object{"rule": fmt.Sprintf("self.enabled == false || has(self.%s)", a)}}
	}
	return s
}

func requires(names ...any) object { return object{"required": names} }

func (m *maker) node(depth int) object {
	if depth < 0 {
		return m.leaf()
	}
	switch m.IntN(9) {
	case 0, 1:
		return m.schema(depth)
	case 4:
		return m.unique()
	case 2:
		s := object{"type": "array", "items": m.item(depth)}
		if m.Chance(40) {
			s["maxItems"] = m.Between(2, 5)
		}
		return s
	case 3:
		s := object{"type": "object", "additionalProperties": m.item(depth)}
		if m.Chance(30) {
			s["maxProperties"] = m.Between(1, 3)
		}
		return s
	}
	return m.leaf()
}

// item returns the schema of items and of the values of maps.
func (m *maker) item(depth int) object {
	if m.Chance(50) {
		return m.schema(depth - 1)
	}
	return m.leaf()
}

var words = []string{"a", "on", "off", "auto", "never", "always", "x-1", "Blue"}

// patterns have forms with the same strings, the bounds of their lengths, strings, and a stricter pattern.
var patterns = []struct {
	forms       []string
	least, most int
	texts       []string
	stricter    string
}{
	{[]string{`^[a-z]{3}$`, `^[a-z][a-z][a-z]$`, `^([a-z]){3,3}$`, `\A[a-z]{3}\z`}, 3, 3, []string{"abc", "xyz"}, `^[a-m]{3}$`},
	{[]string{`^(A|B)$`, `^[AB]$`, `^(?:B|A)$`}, 1, 1, []string{"A", "B"}, `^A$`},
	{[]string{`^[0-9]+$`, `^\d+$`, `^[0-9][0-9]*$`}, 1, -1, []string{"0", "42"}, `^[1-9][0-9]*$`},
	{[]string{`^[a-z]{2,5}$`, `^[a-z][a-z]{1,4}$`, `^[a-z]{1,4}[a-z]$`}, 2, 5, []string{"ab", "abcde"}, `^[a-z]{2,4}$`},
	{[]string{`^v\d(\.\d)?$`, `^v[0-9]($|\.[0-9]$)`}, 2, 4, []string{"v1", "v1.2"}, `^v\d$`},
}

// formats have strings, and the bounds of their lengths.
var formats = []struct {
	name        string
	least, most int
	texts       []string
}{
	{"date", 10, 10, []string{"2024-01-02"}},
	{"uuid", 32, 36, []string{"01234567-89ab-cdef-0123-456789abcdef"}},
	{"ipv4", 7, -1, []string{"10.0.0.1"}},
}

func (m *maker) leaf() object {
	switch m.IntN(9) {
	case 0:
		s := object{"type": "string", "minLength": m.IntN(3)}
		s["maxLength"] = s["minLength"].(int) + m.Between(2, 5)
		return s
	case 1:
		var enum []any
		for _, w := range m.Perm(len(words))[:m.Between(2, 4)] {
			enum = append(enum, words[w])
		}
		return object{"type": "string", "enum": enum}
	case 2:
		return object{"type": "string", "pattern": generate.Pick(m.Rand, patterns).forms[0]}
	case 3:
		return object{"type": "string", "format": generate.Pick(m.Rand, formats).name}
	case 4:
		return object{"type": "string"}
	case 5:
		s := object{"type": "integer", "minimum": m.Between(-3, 3)}
		s["maximum"] = s["minimum"].(int) + m.Between(5, 200)
		if m.Chance(30) {
			s["x-kubernetes-validations"] = []any{object{"rule": fmt.Sprintf("self != %d", s["maximum"])}}
		}
		if m.Chance(20) {
			s["format"] = generate.Pick(m.Rand, []string{"int32", "int64"})
		}
		return s
	case 6:
		low := m.IntN(5)
		return object{"type": "integer", "enum": []any{low, low + 1, low + 2, low + 7}}
	case 7:
		return object{"type": "number", "minimum": 0.5, "maximum": float64(m.Between(2, 9))}
	}
	return object{"type": "boolean"}
}

// setDefault gives a leaf a default.
func (m *maker) setDefault(s object) bool {
	if s["type"] == "object" || s["type"] == "array" {
		return false
	}
	s["default"] = m.value(s, 0)
	return true
}

// value returns a value of a schema as it is generated, which is mostly valid.
func (m *maker) value(s object, wrong int) any {
	if m.Chance(wrong) {
		return generate.Pick(m.Rand, []any{"", "zz", -1, 0, 7, 1.5, true, object{}, []any{}, "aaaaaaaaaaaaa", 1 << 40})
	}
	if enum, ok := s["enum"].([]any); ok {
		return generate.Pick(m.Rand, enum)
	}
	switch s["type"] {
	case "string":
		return m.string(s, wrong)
	case "integer":
		return m.number(s, "minimum", 0) + m.IntN(4)
	case "number":
		return float64(m.number(s, "maximum", 1)) - float64(m.IntN(2))/2
	case "boolean":
		return m.Chance(50)
	case "array":
		list := []any{}
		for range m.IntN(3) {
			list = append(list, m.value(s["items"].(object), wrong))
		}
		return list
	}
	o := object{}
	if values, ok := s["additionalProperties"].(object); ok {
		for _, name := range m.names(m.IntN(3)) {
			o[name] = m.value(values, wrong)
		}
		return o
	}
	properties := s["properties"].(object)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || m.Chance(50) {
			o[name] = m.value(properties[name].(object), wrong)
		}
	}
	return o
}

func (m *maker) string(s object, wrong int) any {
	for _, p := range patterns {
		if s["pattern"] == p.forms[0] {
			return generate.Pick(m.Rand, p.texts)
		}
	}
	for _, f := range formats {
		if s["format"] == f.name {
			return f.texts[0]
		}
	}
	n := m.number(s, "minLength", 0) + m.IntN(2)
	if m.Chance(wrong) {
		n += m.IntN(6)
	}
	return "abcdefghijklmnop"[:n]
}

// number returns an integer keyword of a schema, which may have been decoded from JSON.
func (m *maker) number(s object, keyword string, otherwise int) int {
	switch n := s[keyword].(type) {
	case int:
		return n
	case float64:
		return int(n)
	}
	return otherwise
}
