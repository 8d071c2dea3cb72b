package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/testenv"
)

// openShiftSuites are modules with suites in OpenShift's format.
var openShiftSuites = []struct {
	module  string
	minimum int // of tests that pass
	// notRun is the number of suites that are only for CRDs that Kubernetes 1.37 rejects.
	notRun int
	// differ are the names of tests whose expected errors differ from those of Kubernetes 1.37.
	differ []string
}{
	{"github.com/openshift/hypershift@v0.1.82", 952, 0, nil},
	{"github.com/openshift/api@v0.0.0-20260805160557-b61243060d5f", 5800, 17, []string{
		"Should throw an error for invalid CSP directive values, starting and ending with quotes",
		"Should throw an error for invalid CSP directive values with quote",
		"Should reject configuration with decimal value in chunkSizeMiB for storage s3",
		"lastGatherSeconds must be integer",
	}},
}

// TestOpenShiftSuites runs the suites of OpenShift's projects. All tests must pass, except those that the table lists.
// CRDs that Kubernetes 1.37 rejects because of the estimated cost of their rules are listed.
func TestOpenShiftSuites(t *testing.T) {
	testenv.E2E(t)
	for _, m := range openShiftSuites {
		t.Run(m.module, func(t *testing.T) {
			files := suitesOf(t, moduleDirectory(t, m.module))
			_, stdout, stderr := invoke(t, "", append([]string{"test", "-o", "json"}, files...)...)
			ran, total := map[string]bool{}, suite.Summary{}
			costly := map[string]int{} // suites that cannot run with a CRD
			for line := range strings.Lines(stdout) {
				var r suite.Result
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err, line)
				}
				switch {
				case r.Name == "" && tooCostly.MatchString(r.Error):
					costly[r.File]++
					continue
				case !r.Passed && !slices.Contains(m.differ, r.Name):
					t.Errorf("%s:%d: %s (%s)\n%s", r.File, r.Line, r.Name, r.CRD, r.Text())
				case !r.Passed:
					t.Logf("differs from 1.37: %s", r.Text())
				}
				ran[r.File] = true
				total.Add(&r)
			}
			for crd, n := range costly {
				t.Logf("not run: %s with %s: the CRD is rejected, because its rules are too costly", counted(n, "suite"), crd)
			}
			for _, file := range files {
				if !ran[file] {
					t.Logf("not run with any CRD: %s", file)
				}
			}
			if got := len(files) - len(ran); got != m.notRun {
				t.Errorf("%d suites did not run with any CRD, not %d", got, m.notRun)
			}
			t.Logf("%d of %d suites ran: %+v %s", len(ran), len(files), total, stderr)
			if total.Passed < m.minimum {
				t.Errorf("only %d tests passed", total.Passed)
			}
		})
	}
}

// suitesOf returns the suites of a module: the files in directories below directories with the name tests.
func suitesOf(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" || filepath.Base(filepath.Dir(filepath.Dir(path))) != "tests" {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("crdName:")) {
			files = append(files, path)
		} else {
			t.Logf("not a suite: %s", path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	return files
}

// tooCostly matches the error of a CRD that Kubernetes 1.37 rejects because of its rules.
var tooCostly = regexp.MustCompile(`(?s)the CRD is rejected.*estimated rule cost`)

// moduleDirectory returns the directory of a module in the module cache.
func moduleDirectory(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir() // the module is not a dependency
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if jsonErr := json.NewDecoder(bytes.NewReader(out)).Decode(&info); jsonErr != nil || info.Error != "" || err != nil {
		t.Fatal(module, err, jsonErr, info.Error)
	}
	return info.Dir
}
