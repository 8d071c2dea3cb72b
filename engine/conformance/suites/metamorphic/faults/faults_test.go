package faults

import (
	"os"
	"path/filepath"
	"testing"
)

// TestApply checks that each patch applies and changes its files. make metamorphic-faults checks that they are found.
func TestApply(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..", "..")
	patches, err := Patches(".")
	if err != nil || len(patches) < 6 {
		t.Fatalf("%d patches, %v", len(patches), err)
	}
	for _, patch := range patches {
		dir := t.TempDir()
		if _, err := Apply(patch, root, dir); err != nil {
			t.Error(err)
			continue
		}
		text, err := os.ReadFile(patch)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range patched.FindAllSubmatch(text, -1) {
			name := string(m[1])
			before, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			if after, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(after) == string(before) {
				t.Errorf("%s does not change %s: %v", patch, name, err)
			}
		}
	}
}

// TestApplyStale checks that a patch of another tree is an error.
func TestApplyStale(t *testing.T) {
	dir := t.TempDir()
	patch := filepath.Join(dir, "x.patch")
	text := "--- a/faults.go\n+++ b/faults.go\n@@ -1,1 +1,1 @@\n-package other\n+package another\n"
	if err := os.WriteFile(patch, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if overlay, err := Apply(patch, ".", t.TempDir()); err == nil {
		t.Errorf("the patch has the overlay %s", overlay)
	}
	if _, err := Patches(t.TempDir()); err == nil {
		t.Error("an empty folder has patches")
	}
}
