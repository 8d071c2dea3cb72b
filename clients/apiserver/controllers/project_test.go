package controllers

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// The version of Cluster API that is tested. Its APIs are a module of their own.
const (
	project    = "sigs.k8s.io/cluster-api"
	projectAPI = project + "/api"
	version    = "v1.14.2"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// command returns a command whose failure ends the test.
func command(ctx context.Context, t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	return c
}

// run runs a command, and returns its output.
func run(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	c := command(t.Context(), t, dir, name, args...)
	c.Stderr = t.Output()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v", c.Args, err)
	}
	return out
}

// download returns a copy of the project's source. Only the path of the module of its APIs is changed, which is
// relative. The copy has the same path in each run, so that compiled packages are reused.
func download(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", ".cache", "cluster-api"))
	check(t, err)
	copied.Do(func() {
		var module struct{ Dir string }
		check(t, json.Unmarshal(run(t, t.TempDir(), "go", "mod", "download", "-json", project+"@"+version), &module))
		check(t, os.RemoveAll(dir))
		check(t, os.CopyFS(dir, os.DirFS(module.Dir)))
		run(t, dir, "go", "mod", "edit", "-replace="+projectAPI+"="+projectAPI+"@"+version)
	})
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal("the source was not copied: ", err)
	}
	return dir
}

var copied sync.Once
