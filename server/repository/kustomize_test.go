package repository

import (
	"os"
	"path/filepath"
	"testing"
)

// TestKustomizeResources checks that a resource is a manifest, also if it is the content of a ConfigMap.
func TestKustomizeResources(t *testing.T) {
	dir := t.TempDir()
	text := "resources: [crd.yaml]\nconfigMapGenerator: [{name: a, files: [crd.yaml, x=other.yaml]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := NewFilter(dir, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	f.visit(dir)
	for name, want := range map[string]string{"crd.yaml": "", "other.yaml": "kustomize file",
		"kustomization.yaml": "kustomization"} {
		if got := f.recognise(filepath.Join(dir, name)).Kind; got != want {
			t.Errorf("%s is skipped as %q, want %q", name, got, want)
		}
	}
}
