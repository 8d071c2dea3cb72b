package diff_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
)

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab}
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
              replicas: {type: integer, minimum: 1, maximum: 10, default: 1}
`

// stricter is the CRD with a lower bound for replicas.
var stricter = strings.Replace(crd, "maximum: 10", "maximum: 5", 1)

func compile(manifest string) *engine.Definition {
	d, report, err := engine.Compile(context.Background(), engine.YAML([]byte(manifest)), engine.Options{})
	if err != nil {
		log.Fatal(err) // the manifest could not be evaluated
	}
	if d == nil {
		log.Fatal(report.Rejection.Message) // an API server would reject the CRD
	}
	return d
}

func ExampleCompare() {
	result, err := diff.Compare(context.Background(), engine.YAML([]byte(crd)), engine.YAML([]byte(stricter)), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range result.Changes {
		fmt.Printf("%s: %s in version %s: %s\n", c.Class, c.Kind, c.Version, c.Message)
	}
	// Output: Breaking: BoundTightened in version v1: values greater than 5 are rejected
}

func ExampleCounterexamples() {
	ctx := context.Background()
	result, err := diff.Compare(ctx, engine.YAML([]byte(crd)), engine.YAML([]byte(stricter)), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	found, err := diff.Counterexamples(ctx, compile(crd), compile(stricter), result, diff.SearchOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range found {
		fmt.Println(result.Changes[c.Change].Kind)
		fmt.Println(string(c.Found.Object))
		fmt.Println(c.Found.New.Violations[0])
	}
	// Output:
	// BoundTightened
	// {"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a.b","namespace":"default"},"spec":{"replicas":6}}
	// spec.replicas: Invalid value: 6: spec.replicas in body should be less than or equal to 5
}

func ExampleReplay() {
	object := engine.JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"nightly"},` +
		`"spec":{"replicas":7}}`))
	results, err := diff.Replay(context.Background(), compile(crd), compile(stricter), []engine.ObjectWrite{engine.Create{Object: object}},
		engine.FieldValidationWarn)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(results[0].Outcomes)
	fmt.Println(results[0].NewViolations[0])
	// Output:
	// [NewlyRejected KeptByRatcheting]
	// spec.replicas: Invalid value: 7: spec.replicas in body should be less than or equal to 5
}
