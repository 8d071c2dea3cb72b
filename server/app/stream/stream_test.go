package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

// TestBoundedMemory checks that a long stream is answered in order and needs no more memory than a short one.
func TestBoundedMemory(t *testing.T) {
	testenv.E2E(t)
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("this system does not tell how much memory a process took: ", err)
	}
	t.Setenv("GOMAXPROCS", "2") // the server's: the bar is that of two cores, and more of them take more memory
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	binary := filepath.Join(t.TempDir(), "crdeval")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../../cmd/crdeval")
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
