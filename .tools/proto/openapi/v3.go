package main

import (
	"maps"
	"slices"
	"strings"
)

// convert converts a document from OpenAPI 2.0 to 3.1.
func convert(doc map[string]any) map[string]any {
	v3 := map[string]any{
		"openapi": "3.1.0", "info": doc["info"], "tags": doc["tags"], "security": doc["security"],
		"servers": []any{map[string]any{"url": "/"}},
		"components": map[string]any{
			"schemas": moved(doc["definitions"]), "parameters": map[string]any{},
			"securitySchemes": map[string]any{"bearer": map[string]any{
				"type": "http", "scheme": "bearer", "description": at(doc, "securityDefinitions", "bearer")["description"],
			}},
		},
	}
	for name := range at(doc, "parameters") {
		if p := at(doc, "parameters", name); p["in"] != "body" {
			at(v3, "components", "parameters")[name] = parameter(p)
		}
	}
	paths := map[string]any{}
	operations(doc, func(path, method string, o map[string]any) {
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		at(paths, path)[method] = operation(doc, o)
	})
	v3["paths"] = paths
	return v3
}

// moved returns a copy of a value with references to the places of OpenAPI 3.
func moved(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, child := range v {
			if target, isText := child.(string); key == "$ref" && isText {
				target = strings.Replace(target, "#/definitions/", "#/components/schemas/", 1)
				child = strings.Replace(target, "#/parameters/", "#/components/parameters/", 1)
			}
			out[key] = moved(child)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, child := range v {
			out[i] = moved(child)
		}
		return out
	}
	return v
}

// parameterKeys are the keys of a parameter in OpenAPI 3. The others of OpenAPI 2.0 are those of its schema.
var parameterKeys = []string{"name", "in", "required", "description"}

func parameter(p map[string]any) map[string]any {
	out, schema := map[string]any{}, map[string]any{}
	for key, value := range p {
		switch {
		case slices.Contains(parameterKeys, key):
			out[key] = value
		case key != "collectionFormat":
			schema[key] = moved(value)
		}
	}
	out["schema"] = schema
	return out
}

func operation(doc, o map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range o {
		if !slices.Contains([]string{"parameters", "responses", "consumes", "produces"}, key) {
			out[key] = value
		}
	}
	var parameters []any
	given, _ := o["parameters"].([]any)
	for _, g := range given {
		p, _ := g.(map[string]any)
		target, isRef := p["$ref"].(string)
		if isRef {
			p = at(doc, "parameters", strings.TrimPrefix(target, "#/parameters/"))
		}
		switch {
		case p["in"] == "body":
			body := map[string]any{"required": p["required"] == true, "content": content(doc, o, "consumes", p["schema"])}
			if p["description"] != nil {
				body["description"] = p["description"]
			}
			out["requestBody"] = body
		case isRef:
			parameters = append(parameters, moved(g))
		default:
			parameters = append(parameters, parameter(p))
		}
	}
	if len(parameters) > 0 {
		out["parameters"] = parameters
	}
	responses := map[string]any{}
	for code := range at(o, "responses") {
		r := maps.Clone(at(o, "responses", code))
		if schema := r["schema"]; schema != nil {
			r["content"] = content(doc, o, "produces", schema)
			if code == "default" { // errors are JSON
				r["content"] = map[string]any{"application/json": map[string]any{"schema": moved(schema)}}
			}
		}
		delete(r, "schema")
		responses[code] = r
	}
	out["responses"] = responses
	return out
}

// content returns the media types of an operation, or those of the document, each with a schema. Text is a string.
func content(doc, o map[string]any, key string, schema any) map[string]any {
	media, _ := o[key].([]any)
	if len(media) == 0 {
		media, _ = doc[key].([]any)
	}
	out := map[string]any{}
	for _, m := range media {
		of := moved(schema)
		if m == "text/plain" || m == "application/openmetrics-text" {
			of = map[string]any{"type": "string"}
		}
		out[m.(string)] = map[string]any{"schema": of}
	}
	return out
}
