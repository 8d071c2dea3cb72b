package diff_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type props = apiextensionsv1.JSONSchemaProps

// maker makes schemas that are mostly accepted, changes of them, and objects that mostly are.
type maker struct{ *rand.Rand }

func (m maker) one(in int) bool { return m.IntN(in) == 0 }

func choose[T any](m maker, from ...T) T { return from[m.IntN(len(from))] }

var (
	fieldNames = []string{"a", "b", "c", "name", "x-y"}
	someTexts  = []string{"", "a", "ab", "abc", "b", "2024-01-02", "10.0.0.1", "ü", "aaaaaa", "1h"}
	someInts   = []int64{-3, -1, 0, 1, 2, 3, 5, 6, 10, 3000000000}
	someReals  = []float64{-1.5, 0, 0.5, 1, 1.5, 2, 4, 1e30}
)

// schema makes a node of the spine.
func (m maker) schema(depth int) *props {
	s := &props{}
	kind := choose(m, "object", "object", "object", "array", "array", "string", "integer", "number", "boolean", "map", "any", "intstr", "embedded")
	if depth <= 0 {
		kind = choose(m, "string", "string", "integer", "number", "boolean", "intstr", "any")
	}
	m.shape(s, kind, depth)
	m.constrain(s)
	return s
}

func (m maker) shape(s *props, kind string, depth int) {
	switch kind {
	case "object":
		s.Type, s.Properties = "object", map[string]props{}
		for range 1 + m.IntN(4) {
			s.Properties[choose(m, fieldNames...)] = *m.schema(depth - 1)
		}
		if m.one(5) {
			s.XPreserveUnknownFields = new(true)
		}
		if m.one(8) {
			s.XMapType = new(choose(m, "atomic", "granular"))
		}
	case "embedded":
		s.Type, s.XEmbeddedResource, s.XPreserveUnknownFields = "object", true, new(true)
	case "map":
		s.Type = "object"
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}
		if !m.one(4) {
			s.AdditionalProperties.Schema = m.schema(depth - 1)
		}
	case "array":
		s.Type, s.Items = "array", &apiextensionsv1.JSONSchemaPropsOrArray{Schema: m.schema(depth - 1)}
		m.listType(s)
		if m.one(6) {
			s.XPreserveUnknownFields = new(true)
		}
	case "any":
		s.XPreserveUnknownFields = new(true)
	case "intstr":
		s.XIntOrString = true
	default:
		s.Type = kind
	}
	s.Nullable = m.one(5)
}

func (m maker) listType(s *props) {
	each := s.Items.Schema
	s.XListType, s.XListMapKeys = nil, nil
	switch {
	case each.Type == "object" && each.Properties != nil && m.one(2):
		s.XListType, s.XListMapKeys = new("map"), []string{"name"}
		each.Nullable = false
		each.Properties["name"] = props{Type: "string"}
		each.Required = append(each.Required, "name")
		if _, there := each.Properties["a"]; !there && m.one(2) {
			each.Properties["a"] = props{Type: "string"}
		}
		if p, there := each.Properties["a"]; there && (p.Type == "string" || p.Type == "integer") && m.one(2) {
			p.Nullable = false
			each.Properties["a"] = p
			each.Required = append(each.Required, "a")
			s.XListMapKeys = append(s.XListMapKeys, "a")
		}
	case each.Type != "object" && each.Type != "array" && m.one(2):
		s.XListType, each.Nullable = new("set"), false
	case m.one(3):
		s.XListType = new("atomic")
	}
}

// constrain adds constraints, defaults and rules.
func (m maker) constrain(s *props) {
	for range m.IntN(3) {
		m.constraint(s, true)
	}
}

// telling are the constraints that mean something for values of a type.
var telling = map[string][]int{
	"object": {7, 8, 12, 12, 12, 13, 15}, "array": {5, 6, 13}, "string": {3, 4, 9, 10, 11, 13}, "integer": {0, 1, 2, 10, 11, 13}, "number": {0, 1, 1, 2, 10, 11, 13},
}

func (m maker) constraint(s *props, spine bool) {
	op := m.IntN(16)
	if list := telling[s.Type]; list != nil && !m.one(4) {
		op = choose(m, list...)
	}
	switch op {
	case 0:
		s.Minimum, s.ExclusiveMinimum = new(float64(m.IntN(4)-2)+float64(m.IntN(2))/2), m.one(3)
	case 1:
		s.Maximum, s.ExclusiveMaximum = new(float64(m.IntN(8))+float64(m.IntN(2))/2), m.one(3)
	case 2:
		s.MultipleOf = new(choose(m, 1.0, 2, 4, 0.5))
	case 3:
		s.MinLength = new(int64(m.IntN(3)))
	case 4:
		s.MaxLength = new(int64(m.IntN(5)))
	case 5:
		s.MinItems = new(int64(m.IntN(2)))
	case 6:
		s.MaxItems = new(int64(1 + m.IntN(4)))
	case 7:
		s.MinProperties = new(int64(m.IntN(2)))
	case 8:
		s.MaxProperties = new(int64(1 + m.IntN(4)))
	case 9:
		s.Pattern = choose(m, "^a", "b", "^[a-z]*$", "^.?$")
	case 10:
		s.Enum = nil
		for range 1 + m.IntN(4) {
			s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(m.scalar(s))})
		}
	case 11:
		s.Format = choose(m, "date", "ipv4", "int32", "int64", "float", "double", "byte", "duration", "unheard-of", "uuid", "date-time", "datetime")
	case 12:
		if name := choose(m, fieldNames...); len(s.Properties) > 0 && !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	case 13, 14:
		if spine {
			m.rule(s)
		}
	default:
		if spine {
			m.logical(s)
		}
	}
}

func (m maker) rule(s *props) {
	text := ""
	switch {
	case s.XIntOrString:
		text = choose(m, "type(self) == string || self != 3", "type(self) == int")
	case s.Type == "integer":
		text = choose(m, "self != 3", "type(self) == int || self > 5", "self >= 0", "self < 6", "self % 2 == 0", "self / 2 * 2 == self")
	case s.Type == "number":
		text = choose(m, "self < 2.0", "self != 1.5")
	case s.Type == "string":
		text = choose(m, "self != 'abc'", "self.size() < 3", "string(self) == self")
	case s.Type == "array":
		text = choose(m, "self.size() < 3", "self == self + []", "self.size() == 0 || self[0] == self[0]")
	case s.Type == "object" && s.AdditionalProperties != nil:
		text = choose(m, "self.size() < 3", "!('a' in self)")
	case s.Type == "object" && len(s.Properties) > 0:
		names := []string{}
		for name := range s.Properties {
			if !strings.Contains(name, "-") {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return
		}
		slices.Sort(names)
		text = choose(m, "!has(self.%s)", "has(self.%s)", "self == oldSelf", "!has(self.%[1]s) || self.%[1]s == self.%[1]s")
		if strings.Contains(text, "%") {
			text = fmt.Sprintf(text, choose(m, names...))
		}
	}
	if text != "" {
		s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: text})
	}
}

// logical operator adds clauses over the spine.
func (m maker) logical(s *props) {
	clause := func() props {
		c := props{}
		for range 1 + m.IntN(2) {
			m.constraint(&c, false)
		}
		for _, name := range fieldNames {
			if p, there := s.Properties[name]; there && m.one(2) {
				if c.Properties == nil {
					c.Properties = map[string]props{}
				}
				below := props{}
				if p.Type != "object" {
					m.constraint(&below, false)
				}
				c.Properties[name] = below
			}
			if _, there := s.Properties[name]; there && m.one(3) {
				c.Required = append(c.Required, name)
			}
		}
		if m.one(3) {
			c.Not = &props{}
			m.constraint(c.Not, false)
		}
		return c
	}
	var list []props
	for range 1 + m.IntN(3) {
		list = append(list, clause())
	}
	switch m.IntN(4) {
	case 0:
		s.AllOf = list
	case 1:
		s.AnyOf = list
	case 2:
		s.OneOf = list
	default:
		s.Not = &list[0]
	}
}

// scalar is a value that may fit.
func (m maker) scalar(s *props) string {
	kind := s.Type
	if s.XIntOrString || kind == "" {
		kind = choose(m, "integer", "string")
	}
	switch kind {
	case "integer":
		return fmt.Sprint(choose(m, someInts...))
	case "number":
		return fmt.Sprint(choose(m, someReals...))
	case "boolean":
		return choose(m, "true", "false")
	}
	text, _ := json.Marshal(choose(m, someTexts...))
	return string(text)
}

// value makes a value for a schema that mostly fits.
func (m maker) value(s *props, depth int) string {
	switch {
	case depth < 0 || s == nil || m.one(30):
		return choose(m, "null", "1", "1.5", `"x"`, `["a"]`, `[]`, `{}`, `{"a":{"b":1}}`, `[{"a":1}]`)
	case s.Nullable && m.one(4):
		return "null"
	case len(s.Enum) > 0 && !m.one(4):
		return string(choose(m, s.Enum...).Raw)
	case s.Type == "" && !s.XIntOrString:
		return choose(m, "1", `"x"`, `[1]`, `{"a":1}`, `{"name":"x","b":[{"c":1}]}`)
	case s.Type == "array":
		var list []string
		for range m.IntN(4) {
			list = append(list, m.value(s.Items.Schema, depth-1))
		}
		return "[" + strings.Join(list, ",") + "]"
	case s.Type == "object":
		return m.object(s, depth)
	case s.Type == "string" && s.Format != "" && m.one(8):
		return choose(m, "[]", `["a"]`)
	case s.Type == "integer" || s.Type == "number":
		for _, b := range []*float64{s.Minimum, s.Maximum} {
			if b != nil && m.one(2) {
				return fmt.Sprint(choose(m, *b, *b+1, *b-1, float64(int64(*b))))
			}
		}
	}
	return m.scalar(s)
}

func (m maker) object(s *props, depth int) string {
	members := map[string]json.RawMessage{}
	if s.XEmbeddedResource {
		members["apiVersion"], members["kind"] = json.RawMessage(`"v1"`), json.RawMessage(`"Foo"`)
		if m.one(2) {
			members["metadata"] = json.RawMessage(`{"name":"x","labels":{"a":"b"}}`)
		}
	}
	for _, name := range fieldNames {
		p, declared := s.Properties[name]
		switch {
		case declared && name == "name" && p.Type == "string" && m.one(2):
			members[name] = json.RawMessage(choose(m, `"a"`, `"b"`)) // so that keys of lists meet
		case declared && (slices.Contains(s.Required, name) && !m.one(10) || m.one(2)):
			members[name] = json.RawMessage(m.value(&p, depth-1))
		case declared:
		case s.AdditionalProperties != nil && m.one(2):
			members[name] = json.RawMessage(m.value(s.AdditionalProperties.Schema, depth-1))
		case s.AdditionalProperties == nil && m.one(4):
			members[name] = json.RawMessage(choose(m, "1", `"x"`, `{"a":{"b":1}}`, `[{"a":1}]`, "null"))
		}
	}
	text, _ := json.Marshal(members)
	return string(text)
}

// change changes one thing about a schema, or about one below it.
func (m maker) change(s *props, depth int) {
	if below := m.below(s); below != nil && !m.one(3) && len(s.XListMapKeys) < 2 {
		below(func(p *props) { m.change(p, depth-1) })
		return
	}
	op := m.IntN(25)
	switch telling := m.one(2); { // what is rare in schemas is changed where it is
	case telling && s.AdditionalProperties != nil:
		op = 21
	case telling && s.XListType != nil:
		op = 17
	case telling && s.Pattern != "":
		op = 25
	case telling && s.Properties != nil && m.one(3):
		op = choose(m, 0, 13, 14, 15)
	case telling && (joined(s) || len(s.XValidations) > 0 && s.Properties != nil):
		op = choose(m, 13, 13, 19)
	case telling && s.MaxProperties != nil && s.Properties != nil:
		op = 13
	case telling && s.Maximum != nil:
		op = choose(m, 6, 24)
	case telling && len(s.XValidations) > 0:
		op = 11
	}
	switch op {
	case 0, 1, 2:
		m.constraint(s, true)
	case 3:
		s.Minimum, s.Maximum, s.MultipleOf, s.ExclusiveMaximum, s.ExclusiveMinimum = nil, nil, nil, false, false
	case 4:
		s.MinLength, s.MaxLength, s.Pattern, s.Format = nil, nil, "", choose(m, "", s.Format)
	case 5:
		s.MinItems, s.MaxItems, s.MinProperties, s.MaxProperties = nil, nil, nil, nil
	case 6:
		for _, bound := range []*float64{s.Minimum, s.Maximum} {
			if bound != nil {
				*bound += choose(m, -1, -0.5, 0.5, 1)
			}
		}
		for _, bound := range []*int64{s.MinLength, s.MaxLength, s.MinItems, s.MaxItems, s.MinProperties, s.MaxProperties} {
			if bound != nil {
				*bound = max(0, *bound+choose[int64](m, -1, 1))
			}
		}
	case 7:
		s.ExclusiveMaximum, s.ExclusiveMinimum = !s.ExclusiveMaximum, m.one(2)
	case 8:
		s.Enum = append(s.Enum[:len(s.Enum):len(s.Enum)], apiextensionsv1.JSON{Raw: []byte(m.scalar(s))})
	case 9:
		s.Enum = s.Enum[:max(0, len(s.Enum)-1)]
	case 10:
		s.Nullable = !s.Nullable
	case 11:
		s.Type, s.XIntOrString = choose(m, "integer", "number", "string", s.Type), false
	case 12:
		if s.Properties == nil && s.Items == nil && s.AdditionalProperties == nil {
			s.Type, s.XIntOrString = "", true
		}
	case 13:
		if s.Properties != nil {
			p := m.schema(1)
			if m.one(2) {
				p.Default = &apiextensionsv1.JSON{Raw: []byte(m.value(p, 2))}
			}
			s.Properties[choose(m, "d", "a", "b")] = *p
		}
	case 14:
		for _, name := range fieldNames {
			if _, there := s.Properties[name]; there && len(s.Properties) > 1 {
				delete(s.Properties, name)
				break
			}
		}
	case 15:
		s.Required = slices.DeleteFunc(slices.Clone(s.Required), func(string) bool { return m.one(2) })
	case 16:
		if s.XPreserveUnknownFields == nil {
			s.XPreserveUnknownFields = new(true)
		} else {
			s.XPreserveUnknownFields = nil
		}
	case 17:
		switch {
		case len(s.XListMapKeys) == 2:
			s.XListMapKeys = s.XListMapKeys[:1]
		case s.Type == "array":
			m.listType(s)
		}
	case 25:
		s.Pattern = choose(m, "", s.Pattern+"|")
	case 18:
		s.XValidations = s.XValidations[:max(0, len(s.XValidations)-1)]
	case 19:
		m.unjoin(s)
	case 20:
		s.Default = nil
		if m.one(2) {
			s.Default = &apiextensionsv1.JSON{Raw: []byte(m.value(s, 2))}
		}
	case 21:
		if s.Type == "object" && len(s.Properties) == 0 {
			s.AdditionalProperties = choose(m, nil, &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}, &apiextensionsv1.JSONSchemaPropsOrBool{},
				&apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: m.schema(1)})
		}
	case 22:
		if s.Type == "object" && s.AdditionalProperties != nil {
			s.AdditionalProperties, s.Properties = nil, map[string]props{"a": *m.schema(1), "b": *m.schema(0)}
		} else if s.Type == "object" && len(s.Properties) > 0 && !s.XEmbeddedResource {
			s.Properties, s.Required, s.XListMapKeys = nil, nil, nil
			s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: m.schema(1)}
		}
	case 23:
		s.XEmbeddedResource = !s.XEmbeddedResource && s.Type == "object"
	default:
		if s.Maximum != nil {
			s.Maximum, s.ExclusiveMaximum = new(*s.Maximum+0.5), m.one(2)
		}
	}
}

func joined(s *props) bool { return s.AllOf != nil || s.AnyOf != nil || s.OneOf != nil || s.Not != nil }

// unjoin changes logical operators.
func (m maker) unjoin(s *props) {
	for _, list := range []*[]props{&s.AllOf, &s.AnyOf, &s.OneOf} {
		if len(*list) == 0 {
			continue
		}
		switch m.IntN(4) {
		case 0:
			*list = nil
		case 1:
			*list = (*list)[:len(*list)-1]
		case 2:
			c := &(*list)[0]
			if c.Not != nil && m.one(2) {
				c = c.Not
			}
			m.constraint(c, false)
		default:
			c := props{}
			m.constraint(&c, false)
			*list = append(*list, c)
		}
	}
	if s.Not != nil {
		if m.one(2) {
			s.Not = nil
		} else {
			m.constraint(s.Not, false)
		}
	}
}

// below returns what edits one of the schemas below, or nil.
func (m maker) below(s *props) func(edit func(*props)) {
	switch {
	case len(s.Properties) > 0:
		var names []string
		for name := range s.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
		name := choose(m, names...)
		return func(edit func(*props)) {
			p := s.Properties[name]
			edit(&p)
			s.Properties[name] = p
		}
	case s.Items != nil:
		return func(edit func(*props)) { edit(s.Items.Schema) }
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return func(edit func(*props)) { edit(s.AdditionalProperties.Schema) }
	}
	return nil
}
