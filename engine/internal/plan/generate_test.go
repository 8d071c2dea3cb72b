package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// chooser draws decisions from bytes, so that a fuzzer's mutations are mutations of schemas and objects. When the bytes
// are used up it goes on with a small generator seeded by them.
type chooser struct {
	data []byte
	rng  uint64
}

func newChooser(data []byte) *chooser {
	c := &chooser{data: data, rng: 0x9E3779B97F4A7C15}
	for _, b := range data {
		c.rng = (c.rng ^ uint64(b)) * 0x100000001B3
	}
	return c
}

func (c *chooser) n(n int) int {
	if len(c.data) > 0 {
		b := c.data[0]
		c.data = c.data[1:]
		return int(b) % n
	}
	c.rng ^= c.rng << 13
	c.rng ^= c.rng >> 7
	c.rng ^= c.rng << 17
	return int(c.rng>>33) % n
}

func (c *chooser) one(in int) bool { return c.n(in) == 0 }

func pick[T any](c *chooser, l ...T) T { return l[c.n(len(l))] }

var (
	genNames  = []string{"a", "b", "c", "d", "name", "x-y", "e.f", "spec", "status"}
	genTexts  = []string{`"x"`, `""`, `"abc"`, `"A"`, `"ü"`, `"\u0041b"`, `"2024-01-02"`, `"aaaaaaaaaaaa"`, `"10.0.0.1"`}
	genNumber = []string{"0", "1", "2", "-1", "5", "1.5", "1.0", "1e3", "65", "3000000000", "9223372036854775807", "9223372036854775808", "1e300"}
)

// schema makes a schema that is structural but for completeness, which nothing here relies on. depth bounds it; branch: it
// stands in a logical operator of spine.
func (c *chooser) schema(depth int, root bool) *apiextensionsv1.JSONSchemaProps {
	s := &apiextensionsv1.JSONSchemaProps{}
	kind := pick(c, "object", "object", "object", "array", "string", "integer", "number", "boolean", "map", "any", "intstr", "embedded")
	if depth <= 0 {
		kind = pick(c, "string", "integer", "number", "boolean", "intstr", "any")
	}
	if root {
		kind = "object"
	}
	yes := true
	switch kind {
	case "object", "embedded":
		s.Type = "object"
		s.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		for range c.n(5) {
			s.Properties[pick(c, genNames...)] = *c.schema(depth-1, false)
		}
		if kind == "embedded" {
			s.XEmbeddedResource = true
			if c.one(3) {
				s.Properties["kind"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			}
			if c.one(3) {
				s.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": {Type: "string", MaxLength: new(int64(3))}}}
			}
		}
		if c.one(5) || kind == "embedded" {
			s.XPreserveUnknownFields = &yes
		}
	case "map":
		s.Type = "object"
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: c.one(2)}
		if !c.one(3) {
			s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: c.schema(depth-1, false)}
		}
		if c.one(6) {
			s.XPreserveUnknownFields = &yes
		}
	case "array":
		s.Type = "array"
		if !c.one(8) {
			s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: c.schema(depth-1, false)}
			if s.Items.Schema.Type == "object" && c.one(2) {
				s.XListType = new("map")
				s.XListMapKeys = []string{pick(c, genNames...)}
				if c.one(3) {
					s.XListMapKeys = append(s.XListMapKeys, pick(c, genNames...))
				}
			} else if c.one(2) {
				s.XListType = new(pick(c, "set", "atomic"))
			}
		}
		if c.one(6) {
			s.XPreserveUnknownFields = &yes
		}
	case "any":
		s.XPreserveUnknownFields = &yes
	case "intstr":
		s.XIntOrString = true
		if c.one(3) {
			s.AnyOf = []apiextensionsv1.JSONSchemaProps{{Type: "integer"}, {Type: "string"}}
		}
	default:
		s.Type = kind
	}
	if !root {
		s.Nullable = c.one(4)
		if c.one(4) {
			s.Default = &apiextensionsv1.JSON{Raw: []byte(c.value(s, depth+1, 12))}
		}
	}
	c.values(s, s, 2)
	return s
}

// values adds value validations to s, which is spine itself or a branch over it.
func (c *chooser) values(s, spine *apiextensionsv1.JSONSchemaProps, depth int) {
	for range c.n(3) {
		switch c.n(15) {
		case 0:
			s.Minimum, s.ExclusiveMinimum = new(pick(c, 0, 1, 1.5, -3, 1e30)), c.one(3)
		case 1:
			s.Maximum, s.ExclusiveMaximum = new(pick(c, 2, 10, 1.5, 1e4, 1e30)), c.one(3)
		case 2:
			s.MultipleOf = new(pick(c, 1, 2, 0.5))
		case 3:
			s.MinLength = new(int64(c.n(3)))
		case 4:
			s.MaxLength = new(int64(c.n(5)))
		case 5:
			s.MinItems = new(int64(c.n(2)))
		case 6:
			s.MaxItems = new(int64(c.n(4)))
		case 7:
			s.MinProperties = new(int64(c.n(2)))
		case 8:
			s.MaxProperties = new(int64(c.n(5)))
		case 9:
			s.Pattern = pick(c, "^a", "b", "^[a-z]*$", "^.?$")
		case 10:
			for range 1 + c.n(3) {
				raw := pick(c, pick(c, genTexts...), pick(c, genNumber...), "true", "null", `["x"]`, `{"a":1}`)
				s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(raw)})
			}
		case 11:
			s.Format = pick(c, "date", "ipv4", "int32", "float", "byte", "unheard-of", "double", "int64")
		case 12:
			s.Required = append(s.Required, pick(c, genNames...))
		default:
			if depth == 0 {
				continue
			}
			var l []apiextensionsv1.JSONSchemaProps
			for range 1 + c.n(3) {
				l = append(l, *c.branch(spine, depth-1))
			}
			switch c.n(4) {
			case 0:
				s.AllOf = append(s.AllOf, l...)
			case 1:
				s.AnyOf = append(s.AnyOf, l...)
			case 2:
				s.OneOf = append(s.OneOf, l...)
			default:
				s.Not = &l[0]
			}
		}
	}
}

// branch makes a logical operator's schema over spine: values, and properties and items that spine has (mostly).
func (c *chooser) branch(spine *apiextensionsv1.JSONSchemaProps, depth int) *apiextensionsv1.JSONSchemaProps {
	b := &apiextensionsv1.JSONSchemaProps{}
	c.values(b, spine, depth)
	for _, name := range genNames {
		p, ok := spine.Properties[name]
		if ok && c.one(2) || c.one(20) {
			if b.Properties == nil {
				b.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
			}
			b.Properties[name] = *c.branch(&p, depth-1+1*b2i(depth == 0))
		}
	}
	if spine.Items != nil && c.one(3) {
		b.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: c.branch(spine.Items.Schema, 0)}
	}
	if a := spine.AdditionalProperties; a != nil && a.Schema != nil && c.one(3) {
		b.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: c.branch(a.Schema, 0)}
	}
	if spine.XIntOrString && c.one(2) {
		b.Type = pick(c, "integer", "string")
	}
	return b
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// value makes JSON for the schema; one time in wrong it makes something else.
func (c *chooser) value(s *apiextensionsv1.JSONSchemaProps, depth, wrong int) string {
	if depth < 0 || s == nil || c.one(wrong) {
		return pick(c, "null", "true", "[]", "{}", `{"a":{"b":1,"z":null}}`, `[{"a":1},null]`, pick(c, genTexts...), pick(c, genNumber...))
	}
	if len(s.Enum) > 0 && c.one(2) {
		return string(s.Enum[c.n(len(s.Enum))].Raw)
	}
	kind := s.Type
	switch {
	case s.XIntOrString:
		kind = pick(c, "integer", "string")
	case kind == "":
		return pick(c, "1", `"x"`, "[1]", `{"a":1}`, "null")
	}
	switch kind {
	case "string":
		return pick(c, genTexts...)
	case "integer":
		return pick(c, "0", "1", "2", "5", "10", "65", pick(c, genNumber...))
	case "number":
		return pick(c, genNumber...)
	case "boolean":
		return pick(c, "true", "false")
	case "array":
		items := []string{}
		for range pick(c, 0, 1, 2, 3, 15) {
			var item *apiextensionsv1.JSONSchemaProps
			if s.Items != nil {
				item = s.Items.Schema
			}
			items = append(items, c.value(item, depth-1, wrong))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	var members []string
	seen := map[string]bool{}
	add := func(name, text string) {
		if !seen[name] {
			seen[name] = true
			key, _ := json.Marshal(name)
			members = append(members, fmt.Sprintf("%s:%s", key, text))
		}
	}
	if s.XEmbeddedResource && !c.one(8) {
		add("apiVersion", pick(c, `"v1"`, `"g/v1"`, `"g/h/v1"`, `""`, "1"))
		add("kind", pick(c, `"Foo"`, `"Foo"`, `"f_o"`, `""`, "null"))
		if c.one(2) {
			add("metadata", pick(c, `{"name":"a"}`, `{"name":"a","labels":{"x":"y"}}`, `{"name":"a/b"}`, `{"labels":{}}`, `{"unknown":1}`, `{"name":"toolong"}`, "{}", "null", "5"))
		}
	}
	for _, name := range genNames {
		if p, ok := s.Properties[name]; ok {
			if !c.one(4) {
				add(name, c.value(&p, depth-1, wrong))
			}
		} else if a := s.AdditionalProperties; a != nil && c.one(3) {
			add(name, c.value(a.Schema, depth-1, wrong))
		} else if c.one(25) {
			add(name, pick(c, "1", `{"a":1}`, "null", `[{"b":[{"c":1}]}]`))
		}
	}
	if c.one(3) && len(members) > 1 {
		members[0], members[len(members)-1] = members[len(members)-1], members[0]
	}
	return "{" + strings.Join(members, ",") + "}"
}
