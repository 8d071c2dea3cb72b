package conversionwebhook_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conversionwebhook"
)

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.sea.example.com}
spec:
  group: sea.example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {url: "https://boats.example.com/convert"}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {sails: {type: integer}}}}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {sailCount: {type: integer}}}}
`

// renaming is a Converter. A real one calls the webhook at request.Webhook.ClientConfig.
type renaming struct{}

// Convert implements conversionwebhook.Converter.
func (renaming) Convert(_ context.Context, request conversionwebhook.Request) (converted [][]byte, err error) {
	for _, object := range request.Objects {
		object = bytes.ReplaceAll(object, []byte("sea.example.com/v1beta1"), []byte(request.DesiredAPIVersion))
		converted = append(converted, bytes.ReplaceAll(object, []byte("sailCount"), []byte("sails")))
	}
	return converted, nil
}

func ExampleConverter() {
	ctx := context.Background()
	d, _, err := engine.Compile(ctx, engine.YAML([]byte(crd)), engine.Options{Converter: renaming{}})
	if err != nil {
		log.Fatal(err)
	}
	object := engine.YAML([]byte("{apiVersion: sea.example.com/v1beta1, kind: Boat, metadata: {name: a}, sailCount: 3}"))
	converted, err := d.Convert(ctx, object, "v1", engine.TransformOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(converted.Object))
	// Output:
	// {"apiVersion":"sea.example.com/v1","kind":"Boat","metadata":{"name":"a"},"sails":3}
}
