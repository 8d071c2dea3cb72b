package main

import (
	"log"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// operationNames replaces the numbers that protoc-gen-openapiv2 gives to further paths of a method, and a name that is
// a keyword in many languages.
var operationNames = map[string]string{
	"discover2": "discoverGroup", "discover3": "discoverGroupVersion", "getOpenApi2": "getGroupVersionOpenApi",
	"default": "setDefaults",
}

// nameOperations names operations by their methods: EvaluationService_Validate is validate.
func nameOperations(doc map[string]any) {
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
			log.Fatalf("%s %s needs a name of its own, not %q", method, path, id)
		}
		seen[id], o["operationId"] = true, id
	})
}

// absent are the scalar fields of responses that are members of a oneof, and so not always written. Neither are times.
var absent = map[string]bool{"v1TraceStep.error": true}

// require lists the required fields of each definition: of requests those whose description says so, of responses all
// that are always written, which are scalars, enums and lists.
func require(doc map[string]any) {
	definitions := at(doc, "definitions")
	requests := map[string]bool{}
	operations(doc, func(_, _ string, o map[string]any) { reach(definitions, o["parameters"], requests) })
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

var reference = regexp.MustCompile(`"#/definitions/([^"]+)"`)

// reach adds the definitions that a value refers to, directly or through others.
func reach(definitions map[string]any, v any, found map[string]bool) {
	for _, m := range reference.FindAllSubmatch(encode(v), -1) {
		if name := string(m[1]); definitions[name] != nil && !found[name] {
			found[name] = true
			reach(definitions, definitions[name], found)
		}
	}
}
