// Command schema serves the protocol of package peers for validators in Go that know JSON Schema, and for a parser:
//
//	schema kubeconform|jsonschema|simdjson FOLDER
//
// FOLDER contains the JSON schema of each kind, in a file KIND_VERSION.json in lower case. jsonschema needs exactly one.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/minio/simdjson-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yannh/kubeconform/pkg/resource"
	"github.com/yannh/kubeconform/pkg/validator"

	"github.com/crdeval/crdeval/tools/peers"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("usage: schema kubeconform|jsonschema|simdjson FOLDER")
	}
	validate, err := newValidator(os.Args[1], os.Args[2])
	if err != nil {
		return err
	}
	return peers.Serve(os.Stdin, os.Stdout, validate)
}

func newValidator(name, folder string) (func([]byte) error, error) {
	switch name {
	case "kubeconform":
		return kubeconform(folder)
	case "jsonschema":
		return jsonSchema(folder)
	case "simdjson":
		return simdjsonParser()
	}
	return nil, fmt.Errorf("no validator %q", name)
}

// kubeconform validates as the command does with the flag -strict. It reads JSON as YAML.
func kubeconform(folder string) (func([]byte) error, error) {
	locations := []string{filepath.Join(folder, "{{.ResourceKind}}_{{.ResourceAPIVersion}}.json")}
	v, err := validator.New(locations, validator.Opts{Strict: true})
	if err != nil {
		return nil, err
	}
	return func(object []byte) error {
		if r := v.ValidateResource(resource.Resource{Bytes: object}); r.Status != validator.Valid {
			return fmt.Errorf("status %d: %w", r.Status, r.Err)
		}
		return nil
	}, nil
}

// jsonSchema validates with santhosh-tekuri/jsonschema, which asserts formats here.
func jsonSchema(folder string) (func([]byte) error, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("%s contains %d schemas, not one", folder, len(files))
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(files[0])
	if err != nil {
		return nil, err
	}
	return func(object []byte) error {
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(object))
		if err != nil {
			return err
		}
		return schema.Validate(parsed)
	}, nil
}

// simdjsonParser parses only. It reuses its memory, and its strings refer to the document, as those of our parser.
func simdjsonParser() (func([]byte) error, error) {
	if !simdjson.SupportedCPU() {
		return nil, errors.New("simdjson-go does not support this CPU")
	}
	var parsed *simdjson.ParsedJson
	return func(object []byte) error {
		p, err := simdjson.Parse(object, parsed, simdjson.WithCopyStrings(false))
		parsed = p
		return err
	}, nil
}
