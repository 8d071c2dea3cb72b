package suite_test

import (
	"context"
	"fmt"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/suite"
)

const kites = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: kites, kind: Kite}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [lines]
            properties:
              lines: {type: integer, minimum: 1, maximum: 4}
`

func ExampleSuite_Run() {
	suites, _, err := suite.Read("kites_test.yaml", []byte(`
tests:
- name: two lines
  object: {apiVersion: example.com/v1, kind: Kite, metadata: {name: a}, spec: {lines: 2}}
- name: five lines
  object: {apiVersion: example.com/v1, kind: Kite, metadata: {name: a}, spec: {lines: 5}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	open := func(ctx context.Context, files []suite.CRDs) (suite.Evaluator, error) {
		definitions, err := suite.Compile(ctx, files, engine.Options{})
		return suite.NewEvaluator(definitions...), err
	}
	suites[0].Given = []suite.CRDs{{File: "kites.yaml", Text: []byte(kites)}}
	err = suites[0].Run(context.Background(), open, nil, func(r *suite.Result) {
		fmt.Println(r.Name, r.Passed)
		if !r.Passed {
			fmt.Println(r.Text())
		}
	})
	fmt.Println(err)
	// Output:
	// two lines true
	// five lines false
	// kites_test.yaml:5: expected allowed
	//   got rejected: Kite.example.com "a" is invalid: spec.lines: Invalid value: 5: spec.lines in body should be less than or equal to 4
	// violation: kites_test.yaml:6: spec.lines: Invalid value: 5: spec.lines in body should be less than or equal to 4
	// <nil>
}

func ExampleGenerate() {
	d, _, err := engine.Compile(context.Background(), engine.YAML([]byte(kites)), engine.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	samples, err := suite.Generate(context.Background(), d, suite.GenerateOptions{Valid: 1, Invalid: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("valid: %s\n", samples.Valid[0].Object)
	for _, x := range samples.Invalid {
		fmt.Printf("%s: %s\n", x.Constraint, x.Verdict.Violations[0].Message)
	}
	// Output:
	// valid: {"apiVersion":"example.com/v1","kind":"Kite","metadata":{"name":"kite-valid-1","namespace":"default"},"spec":{"lines":3}}
	// the object: required spec: Required value
	// the object: unknown field: unknown field
	// spec: type: Invalid value: "string": spec in body must be of type object: "string"
	// spec.lines: minimum: Invalid value: 0: spec.lines in body should be greater than or equal to 1
	// spec.lines: maximum: Invalid value: 5: spec.lines in body should be less than or equal to 4
}
