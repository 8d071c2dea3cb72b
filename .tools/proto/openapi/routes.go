package main

import (
	_ "embed"
	"log"
	"maps"
	"slices"
	"strings"
)

// The paths that the gateway serves without a method in the protos, and the definitions that they refer to.
var (
	//go:embed paths.json
	ownPaths []byte
	//go:embed shared.json
	ownShared []byte
)

// streamBodies are the paths of the streams, with the definitions of their requests. The fields of a request, except
// lists, are query parameters.
var streamBodies = map[string]string{
	"/v1/catalogs/{catalog}:admitStream": "EvaluationServiceAdmitBody",
	"/v1/catalogs/{catalog}:readStream":  "EvaluationServiceReadBody",
}

// add adds paths, definitions and properties of operations that the protos lack.
func add(doc map[string]any) {
	paths, shared, definitions := decode(ownPaths), decode(ownShared), at(doc, "definitions")
	for path, body := range streamBodies {
		post := at(paths, path, "post")
		post["parameters"] = append(list(post["parameters"]), queryOf(definitions, body, "")...)
	}
	const document = "v1Document" // the message Document
	if definitions[document] == nil {
		log.Fatalf("there is no definition %q to replace: was the message Document moved?", document)
	}
	delete(definitions, document)
	merge(at(doc, "paths"), paths)
	merge(definitions, at(shared, "definitions"))
	shared["tags"], shared["definitions"] = append(list(doc["tags"]), list(shared["tags"])...), definitions
	maps.Copy(doc, shared)
	operations(doc, func(_, _ string, o map[string]any) {
		if slices.Contains(list(o["tags"]), any("Operations")) {
			o["security"] = []any{} // probes, metrics and the description of the API need no token
		}
	})
}

// merge adds members that an object does not have.
func merge(into, from map[string]any) {
	for name, v := range from {
		if into[name] != nil {
			log.Fatalf("%s exists twice", name)
		}
		into[name] = v
	}
}

// queryOf returns query parameters for the fields of a definition, and of the messages in it: options.view.
func queryOf(definitions map[string]any, name, prefix string) (all []any) {
	properties := at(definitions, name, "properties")
	if properties == nil {
		log.Fatalf("there is no definition %q with fields: was it moved?", name)
	}
	for _, field := range slices.Sorted(maps.Keys(properties)) {
		property := at(properties, field)
		reference, _ := property["$ref"].(string)
		target := strings.TrimPrefix(reference, "#/definitions/")
		of := at(definitions, target)
		parameter := map[string]any{
			"name": prefix + field, "in": "query", "required": false, "description": property["description"],
		}
		switch {
		case property["type"] == "array":
			continue
		case reference == "":
			parameter["type"] = property["type"]
			if format := property["format"]; format != nil {
				parameter["format"] = format
			}
		case of["enum"] != nil:
			parameter["type"], parameter["enum"], parameter["default"] = "string", of["enum"], of["default"]
		default:
			all = append(all, queryOf(definitions, target, prefix+field+".")...)
			continue
		}
		all = append(all, parameter)
	}
	return all
}
