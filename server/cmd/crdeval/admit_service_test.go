package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Paths of deploy/samples from testdata.
const sampleCRDs, sampleObjects = "../../../../deploy/samples/crds", "../../../../deploy/samples/objects"

// TestAdmitWithServer compares the output with --server to that without, for the same files.
func TestAdmitWithServer(t *testing.T) {
	t.Chdir("testdata")
	socket := serving(t)
	var many strings.Builder // more than one batch
	for i := range 3*maxBatch - 1 {
		fmt.Fprintf(&many, "---\napiVersion: example.com/v%d\nkind: Kite\nmetadata: {name: %s, namespace: %s}\n", i/maxBatch%2+1, strings.Repeat("n", i%70+1)+fmt.Sprint(i), strings.Repeat("s", i%3+1))
	}
	long := file(t, many.String())
	crd, err := os.ReadFile("admit-crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	boats, err := os.ReadFile("boats.yaml")
	if err != nil {
		t.Fatal(err)
	}
	marked := file(t, "---\n"+string(boats)+"\n---\n"+string(crd)) // several CRDs, each after a marker
	for _, args := range []string{
		"--crds " + sampleCRDs + " " + sampleObjects,
		"--crds " + sampleCRDs + " --explain " + sampleObjects,
		"--crds " + sampleCRDs + " --field-validation warn " + sampleObjects + " -o json",
		"--crds " + sampleCRDs + " " + sampleObjects + " -o junit",
		"--crds " + sampleCRDs + " " + sampleObjects + " -o yaml",
		"--crds " + sampleCRDs + " " + sampleObjects + " -o stored -n other",
		"--crds " + sampleCRDs + " " + sampleObjects + " -o wide --now 2100-01-01T00:00:00Z",
		"--crds " + sampleCRDs + " " + sampleObjects + " -o table --field-selector metadata.name=release",
		"--crds " + sampleCRDs + " " + sampleObjects + " -o table --field-selector spec.none=x",
		"--crds admit-crd.yaml --old admit-old.yaml admit-new.yaml",
		"--crds admit-crd.yaml --old admit-old.yaml admit-new.yaml -o stored",
		"--crds admit-crd.yaml --old admit-old.yaml --subresource status admit-new.yaml -o yaml",
		"--crds admit-crd.yaml --type json -p [{op:\u00a0replace,path:\u00a0/spec/size,value:\u00a04}] admit-old.yaml -o yaml",
		"--crds admit-crd.yaml -p {spec:\u00a0{size:\u00a099}} admit-old.yaml",
		"--crds admit-rejected-crd.yaml admit-new.yaml",
		"--crds hosts.yaml host.yaml -o stored",
		"--crds " + marked + " --old admit-old.yaml admit-new.yaml",
		"--crds admit-crd.yaml -o wide --now 2100-01-01T00:00:00Z " + long,
		"--crds admit-crd.yaml -o table --no-headers --now 2100-01-01T00:00:00Z --field-selector metadata.namespace=ss " + long,
	} {
		t.Run(args, func(t *testing.T) {
			split := strings.Fields(strings.ReplaceAll(args, "\u00a0", "\x00"))
			for i := range split {
				split[i] = strings.ReplaceAll(split[i], "\x00", " ")
			}
			code, stdout, stderr := invoke(t, "", append([]string{"admit"}, split...)...)
			there, stdoutThere, stderrThere := invoke(t, "", append([]string{"admit", "--server", socket}, split...)...)
			if code != there || withoutErrors(stdout) != withoutErrors(stdoutThere) {
				t.Errorf("here %d\n%s%s\nthere %d\n%s%s", code, stdout, stderr, there, stdoutThere, stderrThere)
			}
		})
	}
}

// withoutErrors removes the texts of errors, which differ between the two services.
func withoutErrors(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		what, _, _ := strings.Cut(line, ": error: ")
		b.WriteString(what)
	}
	return b.String()
}

// serving starts a service on a socket and stops it at the end of the test.
func serving(t *testing.T) (address string) {
	t.Helper()
	address = "unix://" + filepath.Join(t.TempDir(), "s")
	stop := serveAt(t, address)
	t.Cleanup(func() { stop() })
	return address
}

// serveAt starts a service at an address and waits until it is healthy. The test fails if the service ends before. stop
// ends the service and returns its exit code and its output.
func serveAt(t *testing.T, address string, flags ...string) (stop func() (code int, output string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var code int
	var log bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		args := append([]string{"serve", "--store=memory", "--grpc-address", address, "--http-address=off"}, flags...)
		code = run(ctx, args, environment{stdout: &log, stderr: &log})
	}()
	stop = func() (int, string) {
		cancel()
		<-ended
		return code, log.String()
	}
	for {
		health, _, stderr := invoke(t, "", "healthcheck", "--grpc-address", address, "--timeout=1s")
		if health == 0 {
			return stop
		}
		select {
		case <-ended:
			t.Fatalf("the service has ended with exit code %d: %s", code, &log)
		default:
			t.Log(stderr)
		}
	}
}
