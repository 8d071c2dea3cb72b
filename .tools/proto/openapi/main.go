// Command openapi finishes the OpenAPI document that protoc-gen-openapiv2 wrote, and converts it to OpenAPI 3.1.
//
//	openapi IN OUT OUT3
//
// It makes a crdeval.v1.Document any JSON value, as it is over REST, takes the catalog of an EvaluationContext from the
// path, describes streams as lines, adds what the gateway serves without a method in the protos (routes.go), names
// operations, lists required fields (schema.go), and writes both documents with stable formatting.
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("openapi: ")
	if len(os.Args) != 4 {
		log.Fatal("usage: openapi IN OUT OUT3")
	}
	in, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	doc := decode(in)
	streams(doc)
	contexts(doc)
	add(doc)
	nameOperations(doc)
	require(doc)
	write(os.Args[2], encode(doc))
	text := bytes.ReplaceAll(encode(convert(doc)), []byte(`"#/definitions/`), []byte(`"#/components/schemas/`))
	write(os.Args[3], bytes.ReplaceAll(text, []byte(`"#/parameters/`), []byte(`"#/components/parameters/`)))
}

func decode(text []byte) (doc map[string]any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		log.Fatal(err)
	}
	return doc
}

// encode returns a value with sorted keys.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		log.Fatal(err)
	}
	return b.Bytes()
}

func write(name string, text []byte) {
	if err := os.WriteFile(name, text, 0o644); err != nil {
		log.Fatal(err)
	}
}

// at returns the object at a path of keys, or nil.
func at(v map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		v, _ = v[key].(map[string]any)
	}
	return v
}

// list returns a value as a list, or nil.
func list(v any) []any {
	l, _ := v.([]any)
	return l
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

// contexts names the parameter context.catalog of a path as the other paths do, and refers to the definition of the
// context, of which protoc-gen-openapiv2 has a copy in each body.
func contexts(doc map[string]any) {
	const catalog, definition = "{context.catalog}", "v1EvaluationContext"
	paths := at(doc, "paths")
	for _, path := range slices.Collect(maps.Keys(paths)) {
		if !strings.Contains(path, catalog) {
			continue
		}
		item := at(paths, path)
		for method := range item {
			o := at(item, method)
			for i, p := range list(o["parameters"]) {
				switch of := p.(map[string]any); of["in"] {
				case "path":
					list(o["parameters"])[i] = map[string]any{"$ref": "#/parameters/catalog"}
				case "body":
					reference, _ := at(of, "schema")["$ref"].(string)
					body := at(doc, "definitions", strings.TrimPrefix(reference, "#/definitions/"), "properties")
					body["context"] = map[string]any{
						"$ref": "#/definitions/" + definition, "description": "Inline CRDs and options. Default: none.",
					}
				}
			}
		}
		delete(paths, path)
		paths[strings.ReplaceAll(path, catalog, "{catalog}")] = item
	}
	delete(at(doc, "definitions", definition, "properties"), "catalog")
}

// streams describes the responses that are streams as the gateway sends them: events without a wrapper, one a line.
func streams(doc map[string]any) {
	operations(doc, func(_, _ string, o map[string]any) {
		ok := at(o, "responses", "200")
		event := at(ok, "schema", "properties", "result")
		if title, _ := at(ok, "schema")["title"].(string); event == nil || !strings.HasPrefix(title, "Stream result of ") {
			return
		}
		o["produces"] = []any{"application/x-ndjson"}
		ok["schema"] = event
		ok["description"] = "Lines, each an event as it happens; the last one is {\"error\": google.rpc.Status}."
	})
}
