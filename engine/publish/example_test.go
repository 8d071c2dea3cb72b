package publish_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/publish"
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
    selectableFields: [{jsonPath: .spec.image}]
    additionalPrinterColumns:
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer, default: 1, description: The number of pods.}
              image: {type: string}
`

var exampleObject = engine.JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab",` +
	`"metadata":{"name":"nightly","namespace":"default"},"spec":{"image":"backup"}}`))

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

func ExampleTableOf() {
	ctx, now := context.Background(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	table, err := publish.TableOf(ctx, compileExample(), "v1", []engine.Document{exampleObject}, publish.TableOptions{Now: now})
	if err != nil {
		log.Fatal(err)
	}
	text, err := table.Text(ctx, publish.TextOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// NAME      REPLICAS
	// nightly   1
}

func ExampleExplain() {
	crd := publish.NewCRD(compileExample(), apiextensionsv1.CustomResourceDefinitionStatus{})
	text, err := publish.Explain(context.Background(), "crontabs.spec.replicas", publish.ExplainOptions{}, crd)
	if err != nil {
		log.Fatal(err)
	}
	_, description, _ := strings.Cut(text, "DESCRIPTION:")
	fmt.Println(strings.TrimSpace(description))
	// Output: The number of pods.
}

func ExampleParseFieldSelector() {
	d := compileExample()
	selector, err := publish.ParseFieldSelector(d, "v1", "spec.image=backup")
	if err != nil {
		log.Fatal(err)
	}
	fields, err := publish.Select(context.Background(), d, "v1", exampleObject)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(selector.Matches(fields))
	// Output: true
}
