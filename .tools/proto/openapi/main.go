// Command openapi finishes the OpenAPI document that protoc-gen-openapiv2 wrote, and converts it to OpenAPI 3.1.
//
//	openapi IN OUT OUT3
//
// It makes a crdeval.v1.Document any JSON value, as it is over REST, describes streams as lines, adds what the gateway serves without a method in the
// protos (routes.go), names operations, lists required fields, adds the security scheme (schema.go), and writes both documents with stable formatting.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// definition is the name under which the document defines the message Document.
const definition = "v1Document"

func main() {
	if len(os.Args) != 4 {
		fail(fmt.Errorf("usage: openapi IN OUT OUT3"))
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fail(err)
	}
}

func run(in, out, out3 string) error {
	src, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var doc map[string]any
	if err := dec.Decode(&doc); err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	streams(doc)
	if err := add(doc); err != nil {
		return err
	}
	if err := nameOperations(doc); err != nil {
		return err
	}
	require(doc)
	if err := write(out, doc); err != nil {
		return err
	}
	return write(out3, convert(doc))
}

// write writes a document with sorted keys.
func write(out string, doc map[string]any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	return os.WriteFile(out, buf.Bytes(), 0o644)
}

// streams says of the answers that are streams what the gateway makes of them: bare events, one a line.
func streams(doc map[string]any) {
	paths, _ := doc["paths"].(map[string]any)
	for _, path := range paths {
		operations, _ := path.(map[string]any)
		for _, operation := range operations {
			o, _ := operation.(map[string]any)
			responses, _ := o["responses"].(map[string]any)
			ok, _ := responses["200"].(map[string]any)
			schema, _ := ok["schema"].(map[string]any)
			properties, _ := schema["properties"].(map[string]any)
			if title, _ := schema["title"].(string); !strings.HasPrefix(title, "Stream result of ") || properties["result"] == nil {
				continue
			}
			o["produces"] = []any{"application/x-ndjson"}
			ok["schema"] = properties["result"]
			ok["description"] = "Lines, each an event as it happens; the last one is {\"error\": google.rpc.Status}."
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "openapi:", err)
	os.Exit(1)
}
