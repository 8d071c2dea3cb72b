package main

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
	f, err := newFilter(&ciFlags{})
	if err != nil {
		t.Fatal(err)
	}
	f.visit(dir)
	for name, want := range map[string]string{"crd.yaml": "", "other.yaml": "kustomize file", "kustomization.yaml": "kustomization"} {
		if got := f.recognise(filepath.Join(dir, name)).kind; got != want {
			t.Errorf("%s is skipped as %q, want %q", name, got, want)
		}
	}
}

// TestURLWithoutSecrets checks what of a URL is printed.
func TestURLWithoutSecrets(t *testing.T) {
	for name, want := range map[string]string{
		"https://user:secret@host:1/a?token=b#sha256=c": "https://host:1/a#sha256=c", "https://host/a": "https://host/a",
		"https://user:secret@%zz": "https://…", "a?b": "a?b",
	} {
		if got := withoutSecrets(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
