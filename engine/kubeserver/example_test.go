package kubeserver_test

import (
	"context"
	"fmt"
	"log"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// A server decodes the body of a request, runs admission, and validates the object that it will store.
func Example() {
	ctx := context.Background()
	d, _, err := engine.Compile(ctx, engine.YAML([]byte(storedCRD)), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	body := engine.YAML([]byte("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {colour: red, size: 2}}"))
	decoded, err := kubeserver.Body(ctx, d, "v1", body, kubeserver.WriteOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(decoded.StrictErrors) // the handler rejects the body with fieldValidation=Strict
	object := engine.Create{Version: "v1", Object: engine.JSON(decoded.Object), Namespace: "n"}
	verdict, err := kubeserver.Validate(ctx, d, object, kubeserver.WriteOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verdict.Allowed, verdict.ReadsAsWritten) // a creation drops the status, and reading sets its default
	// Output:
	// [unknown field "spec.colour"]
	// true false
}
