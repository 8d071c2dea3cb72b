package convert_test

import (
	"context"
	"fmt"
	"log"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/convert"
)

const exampleCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tasks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: tasks, singular: task, kind: Task}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://crdeval.example/convert"}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {endpoint: {type: object, properties: {host: {type: string}}}}}}}}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {host: {type: string}}}}}}
`

const exampleRules = `
crd: tasks.example.com
between: [v1beta1, v1]
rules:
- move: {from: spec.host, to: spec.endpoint.host}
`

func Example() {
	ctx := context.Background()
	d, report, err := engine.Compile(ctx, engine.YAML([]byte(exampleCRD)), engine.Options{Conversion: engine.YAML([]byte(exampleRules))})
	if err != nil {
		log.Fatal(err) // the manifest or the rules could not be read
	}
	if d == nil {
		log.Fatal(report.Rejection.Message) // an API server would reject the CRD
	}
	rules := convert.ReportOf(d)
	for _, r := range rules.Rules {
		fmt.Println(r.Kind, r.Text, r.Class, r.Preconditions)
	}
	object := []byte(`{"apiVersion":"example.com/v1beta1","kind":"Task","metadata":{"name":"a"},"spec":{"host":"h"}}`)
	converted, err := convert.Append(ctx, d, nil, object, "v1", true)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(converted))
	laws, err := convert.Test(ctx, d, 100, 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, law := range laws {
		if law.Counterexample != nil {
			fmt.Println(law.Law, law.Counterexample.Text)
		}
	}
	// Output:
	// move spec.host <-> spec.endpoint.host LENS [lost if empty in v1: spec.endpoint]
	// {"apiVersion":"example.com/v1","kind":"Task","metadata":{"name":"a"},"spec":{"endpoint":{"host":"h"}}}
}
