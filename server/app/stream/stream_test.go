package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestBoundedMemory: a long stream is answered in order, in the memory that a short one takes; the bars are those of the whole length.
func TestBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the server and runs it for some seconds, and under the race detector all of it takes more memory")
	}
	binary := filepath.Join(t.TempDir(), "crdeval")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/crdeval")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	err := run(t.Context(), settings{
		binary: binary, crd: "../../../deploy/samples/crds/crontabs.yaml", object: "../../../deploy/samples/objects/crontab-valid.yaml", lengths: []int{20_000, 100_000},
	})
	if err != nil {
		t.Error(err)
	}
}
