package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckRepository checks a repository whose folders have different versions of a CRD and a fragment of it.
func TestCheckRepository(t *testing.T) {
	const fragment = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: goods.example.com}\n" +
		"spec: {conversion: {strategy: None}}\n"
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"one/crd.yaml": good, "two/crd.yaml": strings.Replace(good, "name: v1", "name: v2", 1), "one/patch.yaml": fragment,
		"old.yaml": good,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket := serving(t)
	for _, tc := range []struct {
		args, want, absent string
		code               int
	}{
		{"--repository one two", "2 CRDs: 2 accepted, 0 rejected\nskipped 1 document: 1 CRD fragment\n", "update", 0},
		{"--repository -v one", "one/patch.yaml: skipped: the CustomResourceDefinition has no group, kind or versions\n", "", 0},
		{"--repository -o json one", `"skipped":{"CRD fragment":1}`, "", 0},
		{"--repository one/patch.yaml two", "one/patch.yaml: goods.example.com: rejected\n", "update", exitRejected},
		{"one/crd.yaml two/crd.yaml", "two/crd.yaml: goods.example.com: rejected as an update\n", "", exitRejected},
		{"--repository --old old.yaml one two", "two/crd.yaml: goods.example.com: rejected as an update\n", "", exitRejected},
		{"--repository --server " + socket + " one two", "2 CRDs: 2 accepted, 0 rejected\n", "update", 0},
		{"--server " + socket + " one/crd.yaml two/crd.yaml", "one/crd.yaml has a CRD of the same name", "", exitError},
	} {
		code, stdout, stderr := invoke(t, "", append([]string{"check"}, strings.Fields(tc.args)...)...)
		if code != tc.code || !strings.Contains(stdout, tc.want) || tc.absent != "" && strings.Contains(stdout, tc.absent) {
			t.Errorf("%s: exit code %d\n%s%s", tc.args, code, stdout, stderr)
		}
	}
}
