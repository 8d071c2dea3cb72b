package bench

import (
	"encoding/json"
	"fmt"
	"maps"
)

// jsonSchema returns the JSON schema of a version of a CRD, for validators that do not know CRDs. Like the converter of
// kubeconform, it closes objects that declare properties, and writes int-or-string as a type. It also expresses
// nullable and embedded resources, so that the validators check all that JSON Schema can express. It keeps
// descriptions. The result has no $schema: it means the same in all drafts since 4.
func jsonSchema(manifest []byte, version string) ([]byte, error) {
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := json.Unmarshal(manifest, &crd); err != nil {
		return nil, err
	}
	for _, v := range crd.Spec.Versions {
		if s := v.Schema.OpenAPIV3Schema; v.Name == version && s != nil {
			s["x-kubernetes-embedded-resource"] = true // the resource itself is like an embedded one
			if err := toJSONSchema(s); err != nil {
				return nil, fmt.Errorf("version %s: %w", version, err)
			}
			return json.Marshal(s)
		}
	}
	return nil, fmt.Errorf("no schema of version %q", version)
}

// toJSONSchema converts a structural schema in place. Schemas in logical operators need no conversion.
func toJSONSchema(s map[string]any) error {
	for _, bound := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
		if s[bound] == true {
			return fmt.Errorf("%s has different forms in the drafts of JSON Schema", bound)
		}
		delete(s, bound)
	}
	properties, declared := s["properties"].(map[string]any)
	if s["x-kubernetes-embedded-resource"] == true {
		closed := map[string]any{"apiVersion": map[string]any{"type": "string"}, "kind": map[string]any{"type": "string"}}
		maps.Copy(closed, properties)
		properties, declared = closed, true
		s["required"] = appendMissing(s["required"], "apiVersion", "kind", "metadata")
	}
	for name, p := range properties {
		if err := toJSONSchema(p.(map[string]any)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if declared {
		if s["x-kubernetes-embedded-resource"] == true {
			properties["metadata"] = map[string]any{"type": "object"}
		}
		s["properties"] = properties
		if _, ok := s["additionalProperties"]; !ok && s["x-kubernetes-preserve-unknown-fields"] != true {
			s["additionalProperties"] = false
		}
	}
	for _, part := range []string{"items", "additionalProperties"} {
		if p, ok := s[part].(map[string]any); ok {
			if err := toJSONSchema(p); err != nil {
				return fmt.Errorf("%s: %w", part, err)
			}
		}
	}
	types := s["type"]
	if s["x-kubernetes-int-or-string"] == true {
		types = []any{"integer", "string"}
	}
	if s["nullable"] == true {
		switch t := types.(type) {
		case string:
			types = []any{t, "null"}
		case []any:
			types = append([]any{"null"}, t...)
		}
		if values, ok := s["enum"].([]any); ok {
			s["enum"] = append(values, nil)
		}
	}
	delete(s, "nullable") // ajv would require a type beside it
	if types != nil {
		s["type"] = types
	}
	return nil
}

// appendMissing returns a list with the names that it lacks.
func appendMissing(list any, names ...string) []any {
	out, _ := list.([]any)
next:
	for _, name := range names {
		for _, have := range out {
			if have == name {
				continue next
			}
		}
		out = append(out, name)
	}
	return out
}
