package main

import (
	"slices"
	"strings"
)

// convert converts a document from OpenAPI 2.0 to 3.1, except for references. It changes parts of doc and reuses them.
func convert(doc map[string]any) map[string]any {
	operations(doc, func(_, _ string, o map[string]any) { convertOperation(doc, o) })
	parameters := at(doc, "parameters")
	for name := range parameters {
		if p := at(parameters, name); p["in"] == "body" {
			delete(parameters, name)
		} else {
			parameters[name] = parameter(p)
		}
	}
	at(doc, "info", "license")["url"] = "https://www.apache.org/licenses/LICENSE-2.0" // generators need it
	return map[string]any{
		"openapi": "3.1.0", "info": doc["info"], "tags": doc["tags"], "security": doc["security"], "paths": doc["paths"],
		"servers": []any{map[string]any{"url": "/"}},
		"components": map[string]any{
			"schemas": doc["definitions"], "parameters": parameters,
			"securitySchemes": map[string]any{"bearer": map[string]any{
				"type": "http", "scheme": "bearer", "description": at(doc, "securityDefinitions", "bearer")["description"],
			}},
		},
	}
}

// parameterKeys are the keys of a parameter in OpenAPI 3. The others of OpenAPI 2.0 are those of its schema.
var parameterKeys = []string{"name", "in", "required", "description"}

func parameter(p map[string]any) map[string]any {
	schema := map[string]any{}
	out := map[string]any{"schema": schema}
	for key, value := range p {
		switch {
		case slices.Contains(parameterKeys, key):
			out[key] = value
		case key != "collectionFormat":
			schema[key] = value
		}
	}
	return out
}

func convertOperation(doc, o map[string]any) {
	var parameters []any
	for _, given := range list(o["parameters"]) {
		p, _ := given.(map[string]any)
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
			o["requestBody"] = body
		case isRef:
			parameters = append(parameters, given)
		default:
			parameters = append(parameters, parameter(p))
		}
	}
	if delete(o, "parameters"); len(parameters) > 0 {
		o["parameters"] = parameters
	}
	for code := range at(o, "responses") {
		r := at(o, "responses", code)
		switch schema := r["schema"]; {
		case schema == nil:
		case code == "default": // errors are JSON
			r["content"] = map[string]any{"application/json": map[string]any{"schema": schema}}
		default:
			r["content"] = content(doc, o, "produces", schema)
		}
		delete(r, "schema")
	}
	delete(o, "consumes")
	delete(o, "produces")
}

// content returns the media types of an operation, or those of the document, each with a schema. Text is a string.
func content(doc, o map[string]any, key string, schema any) map[string]any {
	media := list(o[key])
	if len(media) == 0 {
		media = list(doc[key])
	}
	out := map[string]any{}
	for _, m := range media {
		of := schema
		if m == "text/plain" || m == "application/openmetrics-text" {
			of = map[string]any{"type": "string"}
		}
		out[m.(string)] = map[string]any{"schema": of}
	}
	return out
}
