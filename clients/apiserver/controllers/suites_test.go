package controllers

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

// suites are packages of the project whose tests start a server with envtest, and how many tests each has. The tests of
// the reconcilers run a manager, with admission webhooks.
var suites = []struct {
	path  string
	tests int
}{
	{"./controllers/crdmigrator", 1},
	{"./core/reconcilers/cluster", 29},
	{"./core/reconcilers/clusterresourceset", 7},
	{"./core/reconcilers/machine", 47},
	{"./core/reconcilers/machinedeployment", 33},
	{"./core/reconcilers/machineset", 36},
	{"./internal/util/ssa/test", 5},
	{"./util/patch/test", 3},
}

// TestSuites runs tests of the project with links to crdeval-apiserver in place of etcd and kube-apiserver.
func TestSuites(t *testing.T) {
	testenv.E2E(t)
	dir, bin := download(t), t.TempDir()
	server, assets := filepath.Join(bin, "crdeval-apiserver"), filepath.Join(bin, "assets")
	run(t, "..", "go", "build", "-o", server, "./cmd/crdeval-apiserver")
	run(t, bin, server, "envtest", assets)
	for _, suite := range suites {
		t.Run(suite.path, func(t *testing.T) {
			c := command(t.Context(), t, dir, "go", "test", "-count=1", "-timeout=10m", "-v", suite.path)
			c.Env = append(c.Env, "KUBEBUILDER_ASSETS="+assets)
			out, err := c.CombinedOutput()
			passed := bytes.Count(out, []byte("\n--- PASS: "))
			if err != nil || passed != suite.tests {
				t.Errorf("%v; %d tests passed, want %d\n%s", err, passed, suite.tests, out)
			}
		})
	}
}
