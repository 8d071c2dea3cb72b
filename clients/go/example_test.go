package crdeval_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

func Example() {
	ctx := context.Background()
	client, err := crdeval.Dial("localhost:9090")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	manifest, err := os.ReadFile("deploy/samples/crds/crontabs.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.RegisterCRD(ctx, manifest)
	var rejected *crdeval.RejectedError
	switch {
	case errors.As(err, &rejected):
		fmt.Println("an API server would reject it:", rejected.Report.GetRejection().GetMessage())
		return
	case err != nil:
		fmt.Println(err)
		return
	}

	results, err := client.Validate(ctx, []byte(`{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		switch {
		case r.Err != nil:
			fmt.Println("could not be evaluated:", r.Err)
		case r.Allowed():
			fmt.Println("allowed")
		default:
			fmt.Println("rejected:", r.Verdict.GetRejection().GetMessage())
		}
	}
}

// Patches an object, and prints what would be stored as kubectl get prints it.
func ExampleClient_Admit() {
	ctx := context.Background()
	client, err := crdeval.Dial("localhost:9090")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	stored := []byte(`{"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": {"name": "a", "namespace": "b", "resourceVersion": "1"}, "spec": {"replicas": 1}}`)
	results, err := client.Admit(ctx, crdeval.MergePatch(stored, []byte(`{"spec": {"replicas": 3}}`)))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		if !r.Allowed() {
			fmt.Println(r.Err, r.Verdict.GetRejection().GetMessage())
			continue
		}
		text, err := client.TableText(ctx, crdeval.Subject{}, nil, r.StoredObject())
		fmt.Println(text, err)
	}
}

// Shares streams between the calls of concurrent requests.
func ExampleWithMultiplexing() {
	client, err := crdeval.Dial("unix:///run/crdeval/grpc.sock", crdeval.WithMultiplexing(crdeval.MultiplexOptions{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	handle := func(ctx context.Context, object []byte) error { // concurrently
		results, err := client.Admit(ctx, crdeval.Create(object))
		if err == nil {
			err = results[0].Err
		}
		if reason, _ := crdeval.ReasonOf(err); reason == crdevalv1.ErrorReason_ERROR_REASON_CRD_NOT_FOUND {
			return fmt.Errorf("register its CRD first: %w", err)
		}
		return err
	}
	fmt.Println(handle(context.Background(), []byte(`{"apiVersion": "stable.example.com/v1", "kind": "CronTab"}`)))
}
