package diagnosis

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/document"
)

// Schema is the part of a JSON schema from which values are suggested.
type Schema struct {
	Type                 string             `json:"type"`
	Format               string             `json:"format"`
	Pattern              string             `json:"pattern"`
	Default              json.RawMessage    `json:"default"`
	Enum                 []json.RawMessage  `json:"enum"`
	Minimum              *json.Number       `json:"minimum"`
	Maximum              *json.Number       `json:"maximum"`
	ExclusiveMinimum     bool               `json:"exclusiveMinimum"`
	ExclusiveMaximum     bool               `json:"exclusiveMaximum"`
	MinLength            int                `json:"minLength"`
	MinItems             int                `json:"minItems"`
	Properties           map[string]*Schema `json:"properties"`
	Required             []string           `json:"required"`
	Items                *Schema            `json:"items"`
	AdditionalProperties json.RawMessage    `json:"additionalProperties"`
	IntOrString          bool               `json:"x-kubernetes-int-or-string"`
}

// ReadSchema reads the schema of a field, or returns nil.
func ReadSchema(text []byte) *Schema {
	s := new(Schema)
	if json.Unmarshal(text, s) != nil {
		return nil
	}
	return s
}

// At returns the schema of the value at a pointer, or nil.
func (s *Schema) At(pointer string) *Schema {
	for _, key := range document.SplitPointer(pointer) {
		if s == nil {
			return nil
		}
		s = s.child(key)
	}
	return s
}

func (s *Schema) child(key string) *Schema {
	if one := s.Properties[key]; one != nil {
		return one
	}
	if _, err := strconv.Atoi(key); err == nil && s.Items != nil {
		return s.Items
	}
	one := new(Schema)
	if len(s.AdditionalProperties) == 0 || s.AdditionalProperties[0] != '{' ||
		json.Unmarshal(s.AdditionalProperties, one) != nil {
		return nil
	}
	return one
}

// formats has a value of each format that people need to see.
var formats = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "duration": "1h", "email": "user@example.com",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "cidr": "192.0.2.0/24", "uri": "https://example.com/",
	"uuid": "123e4567-e89b-42d3-a456-426614174000", "hostname": "example.com", "byte": "", "mac": "00:00:5e:00:53:01",
}

// deepest is the depth to which samples have required fields.
const deepest = 8

// sample returns a value that fits the schema as far as its default, enum, type, format and bounds say. It does not
// look at patterns and rules.
func (s *Schema) sample(depth int) any {
	switch {
	case len(s.Default) > 0:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.IntOrString:
		return json.Number("1")
	}
	switch s.Type {
	case "string":
		if text, ok := formats[s.Format]; ok {
			return text
		}
		return strings.Repeat("x", min(s.MinLength, 63))
	case "integer", "number":
		return s.number()
	case "boolean":
		return false
	case "array":
		list := []any{}
		for range min(s.MinItems, 1) {
			if s.Items != nil && depth < deepest {
				list = append(list, s.Items.sample(depth+1))
			}
		}
		return list
	}
	object := map[string]any{}
	for _, name := range s.Required {
		if one := s.Properties[name]; one != nil && depth < deepest {
			object[name] = one.sample(depth + 1)
		}
	}
	return object
}

// number returns the integer next to 0 within the bounds.
func (s *Schema) number() any {
	n := int64(0)
	if s.Minimum != nil {
		if low, err := s.Minimum.Int64(); err == nil && n <= low {
			n = low
			if s.ExclusiveMinimum {
				n++
			}
		}
	}
	if s.Maximum != nil {
		if high, err := s.Maximum.Int64(); err == nil && n >= high {
			n = high
			if s.ExclusiveMaximum {
				n--
			}
		}
	}
	return n
}
