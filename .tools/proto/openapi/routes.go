package main

import (
	_ "embed" // what the protos do not say
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What the gateway serves beside the calls that the protos have paths for, and what that refers to.
var (
	//go:embed paths.json
	ownPaths []byte
	//go:embed shared.json
	ownShared []byte
)

// streamBodies are the paths of the streams, and the definitions of the requests whose fields, lists aside, are their query parameters.
var streamBodies = map[string]string{
	"/v1/catalogs/{catalog}:admitStream": "EvaluationServiceAdmitBody",
	"/v1/catalogs/{catalog}:readStream":  "EvaluationServiceReadBody",
}

// texts are the calls that answer text where the header Accept asks for it.
var texts = []string{"PresentationService_Table", "PresentationService_Explain"}

// add adds what the protos do not say.
func add(doc map[string]any) error {
	var paths, shared map[string]any
	if err := json.Unmarshal(ownPaths, &paths); err != nil {
		return fmt.Errorf("paths.json: %w", err)
	}
	if err := json.Unmarshal(ownShared, &shared); err != nil {
		return fmt.Errorf("shared.json: %w", err)
	}
	definitions := at(doc, "definitions")
	for path, body := range streamBodies {
		parameters, err := queryOf(definitions, body, "")
		if err != nil {
			return err
		}
		post := at(paths, path, "post")
		own, _ := post["parameters"].([]any)
		post["parameters"] = append(own, parameters...)
	}
	if definitions[definition] == nil {
		return fmt.Errorf("no definition %q to replace: has the message Document moved?", definition)
	}
	delete(definitions, definition)
	for _, of := range []struct{ into, from map[string]any }{{at(doc, "paths"), paths}, {definitions, at(shared, "definitions")}} {
		for name := range of.from {
			if of.into[name] != nil {
				return fmt.Errorf("%s is there twice", name)
			}
		}
		maps.Copy(of.into, of.from)
	}
	tags, _ := doc["tags"].([]any)
	ownTags, _ := shared["tags"].([]any)
	shared["tags"], shared["definitions"] = append(tags, ownTags...), definitions
	maps.Copy(doc, shared)
	for _, path := range at(doc, "paths") {
		for _, operation := range path.(map[string]any) {
			o := operation.(map[string]any)
			if id, _ := o["operationId"].(string); slices.Contains(texts, id) {
				o["produces"] = []any{"application/json", "text/plain"}
			}
			if tags, _ := o["tags"].([]any); slices.Contains(tags, any("Operations")) {
				o["security"] = []any{} // probes, metrics and the description of the API need no token
			}
		}
	}
	return nil
}

// at is the object at a path of keys, nil if there is none.
func at(v map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		v, _ = v[key].(map[string]any)
	}
	return v
}

// queryOf makes query parameters of the fields of a definition, and of the messages in it: options.view.
func queryOf(definitions map[string]any, name, before string) (all []any, err error) {
	properties := at(definitions, name, "properties")
	if properties == nil {
		return nil, fmt.Errorf("no definition %q with fields: has it moved?", name)
	}
	for _, field := range slices.Sorted(maps.Keys(properties)) {
		property := at(properties, field)
		reference, _ := property["$ref"].(string)
		target := strings.TrimPrefix(reference, "#/definitions/")
		of := at(definitions, target)
		parameter := map[string]any{"name": before + field, "in": "query", "required": false, "description": property["description"]}
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
			nested, err := queryOf(definitions, target, before+field+".")
			if err != nil {
				return nil, err
			}
			all = append(all, nested...)
			continue
		}
		all = append(all, parameter)
	}
	return all, nil
}
