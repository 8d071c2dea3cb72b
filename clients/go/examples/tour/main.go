// Command tour is the command of `make run`. It starts a crdeval server with its embedded store, registers the sample
// CRDs with the Go client, and evaluates the sample objects and updates. It prints the verdicts and further commands to
// try. The server runs until Ctrl-C.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

type settings struct {
	binary, samples    string
	grpcPort, restPort int
	once               bool
}

func main() {
	var s settings
	flag.StringVar(&s.binary, "server-binary", "bin/crdeval", "the crdeval binary to start")
	flag.StringVar(&s.samples, "samples", "deploy/samples", "directory with crds/, objects/ and updates/")
	flag.IntVar(&s.grpcPort, "grpc-port", 9090, "port of the gRPC API on localhost; 0 picks a free one")
	flag.IntVar(&s.restPort, "rest-port", 8080, "port of the REST API on localhost; 0 picks a free one")
	flag.BoolVar(&s.once, "once", false, "stop after the verdicts instead of waiting for Ctrl-C")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	serving, ended := context.WithCancelCause(ctx)
	grpcAddress, restAddress, stop, err := serve(ctx, s, ended)
	if err != nil {
		return err
	}
	defer stop()
	if err = tour(serving, grpcAddress, s.samples); err == nil {
		fmt.Printf(next, restAddress, grpcAddress)
		if s.once {
			return nil
		}
		fmt.Println("The server is running. Ctrl-C stops it.")
		<-serving.Done()
	}
	switch {
	case ctx.Err() != nil:
		fmt.Println("\nstopping")
		return nil
	case serving.Err() != nil:
		return context.Cause(serving)
	}
	return err
}

// next has commands to paste into another terminal, at the root of the repository.
const next = `Next, in another terminal (docs/quickstart.md has more):

  # The registered CRDs
  curl -sS http://%[1]s/v1/catalogs/default/crds

  # Validate an object: replicas must not be 0, and the schedule is not valid
  curl -sS -X POST http://%[1]s/v1/catalogs/default:validate -d '{"items": [{"object": {
    "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "mine", "namespace": "default"},
    "spec": {"cronSpec": "* * * *", "image": "busybox", "replicas": 0}}}]}'

  # The documentation that kubectl explain prints
  curl -sS -H 'Accept: text/plain' http://%[1]s/v1/catalogs/default/explain/crontabs.spec
  kubectl --server http://%[1]s/v1/catalogs/default api-resources

  # The same service over gRPC (https://github.com/fullstorydev/grpcurl)
  grpcurl -plaintext %[2]s list

`

// tour waits for the server and sends it the samples.
func tour(ctx context.Context, address, samples string) error {
	client, err := crdeval.Dial(address)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	const startTimeout = 2 * time.Minute
	ready, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	request := &crdevalv1.GetServerInfoRequest{}
	if _, err := client.Server().GetServerInfo(ready, request, grpc.WaitForReady(true)); err != nil {
		return fmt.Errorf("the server is not ready: %w", err)
	}
	if err := register(ctx, client, filepath.Join(samples, "crds")); err != nil {
		return err
	}
	objects, err := read(filepath.Join(samples, "objects"))
	if err != nil {
		return err
	}
	if err := validate(ctx, client, "objects", objects); err != nil {
		return err
	}
	updates, err := read(filepath.Join(samples, "updates"))
	if err != nil {
		return err
	}
	if err := validate(ctx, client, "updates", updates); err != nil {
		return err
	}
	return admit(ctx, client, objects)
}

// register registers the CRDs of a directory.
func register(ctx context.Context, client *crdeval.Client, dir string) error {
	all, err := client.RegisterDir(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Println("Registered CRDs:")
	for _, r := range all {
		if r.Err != nil {
			return fmt.Errorf("%s: %w", r.Source, r.Err)
		}
		fmt.Printf("  %s\n", r.Name)
		for _, w := range r.Response.GetReport().GetWarnings() {
			fmt.Printf("    warning: %s\n", w)
		}
	}
	return nil
}
