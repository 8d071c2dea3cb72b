package host_test

import (
	"context"
	"fmt"
	"log"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
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
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// counter prints the events that a program would count.
type counter struct{}

// Compiled implements host.Observer.
func (counter) Compiled(_ context.Context, e host.CompileEvent) {
	fmt.Println("compiled", e.CRD, e.Version)
}

// Evaluated implements host.Observer.
func (counter) Evaluated(_ context.Context, e host.EvaluationEvent) {
	fmt.Println(e.Call, e.CRD, e.Version, e.Allowed)
}

func ExampleObserver() {
	ctx := context.Background()
	d, _, err := engine.Compile(ctx, engine.YAML([]byte(crd)), engine.Options{Observer: counter{}})
	if err != nil {
		log.Fatal(err)
	}
	object := engine.YAML([]byte("{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: A}}"))
	if _, err := d.Validate(ctx, engine.Create{Object: object}, engine.ValidateOptions{CompleteMetadata: true}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// compiled crontabs.stable.example.com v1
	// Validate crontabs.stable.example.com v1 false
}
