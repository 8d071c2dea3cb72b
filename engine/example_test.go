package engine_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

const exampleCRD = `
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
    additionalPrinterColumns:
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer, minimum: 1, maximum: 10, default: 1}
              image: {type: string}
  - {name: v1beta1, served: true, storage: false, schema: *schema}
`

const exampleObject = `{"apiVersion":"stable.example.com/v1","kind":"CronTab",` +
	`"metadata":{"name":"nightly","namespace":"default"},"spec":{"image":"backup"}}`

func compileExample() *engine.Definition {
	d, report, err := engine.Compile(context.Background(), engine.YAML([]byte(exampleCRD)), engine.Options{})
	if err != nil {
		log.Fatal(err) // the manifest could not be evaluated
	}
	if d == nil {
		log.Fatal(report.Rejection.Message) // an API server would reject the CRD
	}
	return d
}

// Register two CRDs and admit an object of each.
func ExampleSet() {
	ctx, other := context.Background(), strings.NewReplacer("CronTab", "Timer", "crontab", "timer").Replace(exampleCRD)
	var set engine.Set
	if err := set.Add(ctx, engine.Options{}, engine.YAML([]byte(exampleCRD)), engine.YAML([]byte(other))); err != nil {
		log.Fatal(err)
	}
	for _, object := range []string{exampleObject, strings.Replace(exampleObject, "CronTab", "Timer", 1)} {
		verdict, err := set.Admit(ctx, engine.Create{Object: engine.JSON([]byte(object))}, engine.AdmitOptions{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(verdict.Allowed, verdict.Defaulted[0].Path)
	}
	// Output:
	// true spec.replicas
	// true spec.replicas
}

func ExampleCompile() {
	manifest := engine.YAML([]byte(exampleCRD))
	d, report, err := engine.Compile(context.Background(), manifest, engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Accepted, d.Kind(), d.StorageVersion(), len(d.Versions()))
	// Output: true CronTab v1 2
}

func ExampleDefinition_Validate() {
	d := compileExample()
	object := []byte("apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: nightly}\nspec:\n  replicas: 11\n")
	verdict, err := d.Validate(context.Background(), engine.Create{Object: engine.YAML(object)},
		engine.ValidateOptions{CompleteMetadata: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range verdict.Violations {
		fmt.Printf("line %d: %v\n", v.Position.Line, v)
	}
	// Output: line 5: spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10
}

func ExampleDefinition_Admit() {
	d := compileExample()
	verdict, err := d.Admit(context.Background(), engine.Create{Object: engine.JSON([]byte(exampleObject))}, engine.AdmitOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verdict.Allowed, verdict.Defaulted[0].Path)
	// Output: true spec.replicas
}

func ExampleDefinition_Default() {
	d := compileExample()
	result, err := d.Default(context.Background(), engine.JSON([]byte(exampleObject)), engine.TransformOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Defaulted[0].Path, string(result.Defaulted[0].Value))
	// Output: spec.replicas 1
}

func ExampleDefinition_Convert() {
	d := compileExample()
	result, err := d.Convert(context.Background(), engine.JSON([]byte(exampleObject)), "v1beta1", engine.TransformOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(result.Object[:45]))
	// Output: {"apiVersion":"stable.example.com/v1beta1","k
}

func ExampleCheck() {
	manifest := engine.YAML([]byte(strings.Replace(exampleCRD, "scope: Namespaced", "scope: Global", 1)))
	report, err := engine.Check(context.Background(), manifest, engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range report.Violations {
		fmt.Printf("line %d: %v\n", v.Position.Line, v)
	}
	// Output: line 7: spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"
}

// An update is accepted although its object is invalid, because it does not change the invalid value.
func ExampleDefinition_Validate_update() {
	d := compileExample()
	object := func(image string) engine.Document {
		return engine.YAML([]byte("apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: nightly}\nspec:\n" +
			"  replicas: 11\n  image: " + image + "\n"))
	}
	verdict, err := d.Validate(context.Background(), engine.Update{Object: object("new"), Old: object("old")},
		engine.ValidateOptions{CompleteMetadata: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verdict.Allowed)
	for _, v := range verdict.Ratcheted {
		fmt.Println(v)
	}
	// Output:
	// true
	// spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10
}

func ExampleDefinition_Read() {
	d := compileExample()
	stored := engine.JSON([]byte(strings.Replace(exampleObject, `"image"`, `"colour":"red","image"`, 1)))
	result, err := d.Read(context.Background(), stored, engine.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Pruned[0].Path, result.Defaulted[0].Path)
	// Output: spec.colour spec.replicas
}
