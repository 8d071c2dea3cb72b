package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// operationNames replaces the numbers that protoc-gen-openapiv2 gives to further paths of a method, and a name that is a keyword in many languages.
var operationNames = map[string]string{
	"discover2": "discoverGroup", "discover3": "discoverGroupVersion", "getOpenApi2": "getGroupVersionOpenApi", "default": "setDefaults",
}

// operations calls f for each operation of a document, by path and method.
func operations(doc map[string]any, f func(path, method string, o map[string]any)) {
	paths := at(doc, "paths")
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for _, method := range slices.Sorted(maps.Keys(at(paths, path))) {
			f(path, method, at(paths, path, method))
		}
	}
}

// nameOperations names operations by their methods: EvaluationService_Validate is validate.
func nameOperations(doc map[string]any) (err error) {
	seen := map[string]bool{}
	operations(doc, func(path, method string, o map[string]any) {
		id, _ := o["operationId"].(string)
		if _, name, found := strings.Cut(id, "_"); found {
			id = strings.ToLower(name[:1]) + name[1:]
		}
		if name := operationNames[id]; name != "" {
			id = name
		}
		if seen[id] || strings.TrimRight(id, "0123456789") != id {
			err = fmt.Errorf("%s %s needs a name of its own, not %q", method, path, id)
		}
		seen[id] = true
		o["operationId"] = id
	})
	return err
}

// absent are the scalar fields of responses that are members of a oneof, and so not always written. Neither are times.
var absent = map[string]bool{"v1TraceStep.error": true}

// require lists the required fields of each definition: of requests those whose description says so, of responses all that are always written, which are
// scalars, enums and lists.
func require(doc map[string]any) {
	definitions := at(doc, "definitions")
	requests := map[string]bool{}
	operations(doc, func(_, _ string, o map[string]any) {
		parameters, _ := o["parameters"].([]any)
		for _, p := range parameters {
			reach(definitions, p, requests)
		}
	})
	for name := range definitions {
		d := at(definitions, name)
		properties := at(d, "properties")
		if !strings.HasPrefix(name, "v1") && !requests[name] || d["required"] != nil {
			continue
		}
		var required []any
		for _, field := range slices.Sorted(maps.Keys(properties)) {
			p := at(properties, field)
			target, _ := p["$ref"].(string)
			isEnum := at(definitions, strings.TrimPrefix(target, "#/definitions/"))["enum"] != nil
			description, _ := p["description"].(string)
			switch {
			case requests[name] && strings.Contains(description, "Required."),
				!requests[name] && (target == "" || isEnum) && p["format"] != "date-time" && !absent[name+"."+field]:
				required = append(required, field)
			}
		}
		if len(required) > 0 {
			d["required"] = required
		}
	}
}

// reach adds the definitions that a value refers to, directly or through others.
func reach(definitions map[string]any, v any, found map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if target, isRef := v["$ref"].(string); isRef {
			name := strings.TrimPrefix(target, "#/definitions/")
			if definitions[name] != nil && !found[name] {
				found[name] = true
				reach(definitions, definitions[name], found)
			}
		}
		for _, child := range v {
			reach(definitions, child, found)
		}
	case []any:
		for _, child := range v {
			reach(definitions, child, found)
		}
	}
}
