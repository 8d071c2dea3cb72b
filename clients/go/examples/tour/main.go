// Command tour is the command of `make run`. It starts a crdeval server with its embedded store and registers the
// sample CRDs with the Go client. It evaluates the sample objects and updates through the REST gateway, and prints the
// verdicts and further commands to try. The server runs until Ctrl-C.
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

	crdeval "github.com/crdeval/crdeval/clients/go"
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
	srv, err := start(ctx, s)
	if err != nil {
		return err
	}
	defer srv.stop()

	client, err := crdeval.Dial(srv.grpcAddress)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()

	if err := register(ctx, client, filepath.Join(s.samples, "crds")); err != nil {
		return err
	}
	if err := judge(ctx, srv.restURL, filepath.Join(s.samples, "objects"), "objects", creation); err != nil {
		return err
	}
	if err := judge(ctx, srv.restURL, filepath.Join(s.samples, "updates"), "updates", asWritten); err != nil {
		return err
	}
	if err := admit(ctx, client, filepath.Join(s.samples, "objects")); err != nil {
		return err
	}
	printNext(srv, s.samples)
	if s.once {
		return nil
	}
	fmt.Println("The server is up. Ctrl-C stops it.")
	select {
	case <-ctx.Done():
		fmt.Println("\nstopping")
		return nil
	case err := <-srv.done:
		return fmt.Errorf("the server ended by itself: %w", err)
	}
}

// register reads every CRD of the directory and registers it.
func register(ctx context.Context, client *crdeval.Client, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRDs in %s", dir)
	}
	fmt.Println("Registering CRDs over gRPC:")
	for _, file := range files {
		manifest, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		began := time.Now()
		r, err := client.RegisterCRD(ctx, manifest)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Printf("  %-32s %s in %.1f ms\n", r.GetCrd().GetName(), short(r.GetCrd().GetRevision()), time.Since(began).Seconds()*1000)
		for _, w := range r.GetReport().GetWarnings() {
			fmt.Printf("    warning: %s\n", w)
		}
	}
	fmt.Println()
	return nil
}

// short returns the first digits of a revision, for people.
func short(revision string) string {
	const n = len("sha256:") + 12
	if len(revision) > n {
		return revision[:n]
	}
	return revision
}
