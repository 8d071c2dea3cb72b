package mutation_test

import (
	"context"
	"fmt"

	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/suite/mutation"
)

func ExampleRun() {
	const crd = `
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
        properties:
          spec:
            type: object
            properties:
              lines: {type: integer, minimum: 1, maximum: 4}
`
	suites, _, err := suite.Read("kites_test.yaml", []byte(`
tests:
- name: five lines are rejected
  object: {apiVersion: example.com/v1, kind: Kite, metadata: {name: a}, spec: {lines: 5}}
  causes: [spec.lines]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	suites[0].Given = []suite.CRDs{{File: "kites.yaml", Text: []byte(crd)}}
	report, err := mutation.Run(context.Background(), suites, nil, mutation.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(&report.Score)
	for _, m := range report.Mutants {
		fmt.Printf("%s: %s: %s\n", m.Field, m.Kind, m.Status)
	}
	// Output:
	// score 33.3%: 2 killed, 4 survived (0 not covered), 0 possibly equivalent, 0 invalid
	// spec.lines: minimum moved by -1: survived
	// spec.lines: minimum moved by +1: survived
	// spec.lines: minimum removed: survived
	// spec.lines: maximum moved by -1: survived
	// spec.lines: maximum moved by +1: killed
	// spec.lines: maximum removed: killed
}
