package tests

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/suite/mutation"
	"github.com/crdeval/crdeval/engine/testenv"
)

const mutatedModule = "github.com/openshift/hypershift@v0.1.82"

// mutatedCRDs are the directories of suites of three CRDs of the corpus.
var mutatedCRDs = []string{"hcpetcdbackups", "nodepools", "awsendpointservices"}

// TestSurvivors checks with Kubernetes' code that the example of each surviving mutant of three CRDs tells the mutant
// from the CRD: one accepts the write and the other rejects it, or they store different objects.
func TestSurvivors(t *testing.T) {
	root := filepath.Join(moduleDirectory(t, mutatedModule), "cmd/install/assets/crds/hypershift-operator/tests")
	for _, name := range mutatedCRDs {
		t.Run(name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(root, name+".*", "*.yaml"))
			if err != nil || len(files) == 0 {
				t.Fatal(err, len(files))
			}
			var suites []*suite.Suite
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				list, _, err := suite.Read(file, text)
				if err != nil {
					t.Fatal(err)
				}
				suites = append(suites, list...)
			}
			r, err := mutation.Run(t.Context(), suites, nil, mutation.Options{Seed: 1, Limit: min(40, testenv.Volume(8)), Tries: 200})
			if err != nil || len(r.Errors) > 0 {
				t.Fatal(err, r.Errors)
			}
			confirmed := 0
			for _, m := range r.Mutants {
				if m.Example == nil {
					continue
				}
				original, mutant := answered(t, m, m.Example.OriginalCRD), answered(t, m, m.Example.MutantCRD)
				differs := original.Accepted() != mutant.Accepted() || !bytes.Equal(original.Object, mutant.Object)
				if allowed := m.Example.Original == "allowed"; !differs || allowed && !original.Accepted() {
					t.Errorf("%s:%d: %s: %s old %s\nCRD: %s, upstream %+v %+v\nmutant: %s, upstream %+v %+v", m.File, m.Line,
						m.Change(), m.Example.Object, m.Example.OldObject, m.Example.Original, original.Rejection, original.Errors,
						m.Example.Mutant, mutant.Rejection, mutant.Errors)
					continue
				}
				confirmed++
			}
			if confirmed == 0 {
				t.Error("no survivor to confirm")
			}
			t.Logf("%d mutants, %s: %d survivors confirmed", r.Score.Mutants, r.Score.String(), confirmed)
		})
	}
}

// answered returns upstream's answer to the example of a mutant.
func answered(t *testing.T, m *mutation.Mutant, crd []byte) oracle.Answer {
	t.Helper()
	registered, answer := oracle.Register(crd, false)
	if registered == nil || !answer.Accepted() {
		t.Fatalf("%s: %s: upstream rejects the CRD: %+v", m.File, m.Change(), answer)
	}
	d, err := oracle.Compile(registered)
	if err != nil {
		t.Fatal(err)
	}
	e := m.Example
	request := oracle.Request{Version: m.Version, Body: e.Object, Handler: true, FieldValidation: oracle.Ignore}
	if e.OldObject != nil {
		request.Op = oracle.Update
		if e.Status {
			request.Op = oracle.Status
		}
		stored := []byte(`{"metadata":{"resourceVersion":"1","uid":"u"}}`)
		if request.Body, err = jsonpatch.MergePatch(e.Object, stored); err == nil {
			request.Old, err = jsonpatch.MergePatch(e.OldObject, stored)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return d.Answer(request)
}

// moduleDirectory returns the directory of a module in the module cache.
func moduleDirectory(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir() // the module is not a dependency
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &info); jsonErr != nil || info.Error != "" || err != nil {
		t.Fatal(module, err, jsonErr, info.Error)
	}
	return info.Dir
}
