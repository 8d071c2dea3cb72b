package rules_test

import (
	"context"
	"fmt"
	"log"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
)

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab}
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
            properties: {min: {type: integer}, max: {type: integer}}
            x-kubernetes-validations: [{rule: self.min <= self.max}]
`

// The report of a CRD has the costs of its rules, and the verdict on an object shows why a rule fails.
func Example() {
	ctx := context.Background()
	d, report, err := engine.Compile(ctx, engine.YAML([]byte(crd)), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range report.Versions[0].Rules {
		fmt.Printf("%s costs at most %d of %d\n", r.Text, r.EstimatedCost, r.Limit)
	}
	object := engine.YAML([]byte("{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: a, namespace: b}, spec: {min: 3, max: 2}}"))
	verdict, err := d.Validate(ctx, engine.Create{Object: object}, engine.ValidateOptions{Trace: rules.TraceFailed})
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range verdict.Traces[0].Steps {
		fmt.Printf("%s is %s\n", step.Expression, step.Value)
	}
	// Output:
	// self.min <= self.max costs at most 5 of 10000000
	// self.min is 3
	// self.max is 2
	// self.min <= self.max is false
}
