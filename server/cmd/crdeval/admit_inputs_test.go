package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScaleOf: a Scale is that of the existing object of its namespace and name, whatever that is; of two such nobody knows.
func TestScaleOf(t *testing.T) {
	dir := t.TempDir()
	object := func(kind, namespace, name string) string {
		return "apiVersion: example.com/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: " + namespace + ", resourceVersion: \"1\"}\n---\n"
	}
	old := filepath.Join(dir, "old.yaml")
	if err := os.WriteFile(old, []byte(object("Kite", "default", "a")+object("Boat", "other", "a")+object("Kite", "default", "b")+object("Boat", "default", "b")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ namespace, name, kind, err string }{
		{"default", "a", "Kite", ""},
		{"other", "a", "Boat", ""},
		{"default", "c", "Scale", ""}, // of nothing: the engine says so
		{"default", "b", "", "the Scale of b may be that of " + old + "[3] or that of " + old + "[4]"},
	} {
		for range 8 { // maps have no order
			scale := filepath.Join(dir, "scale.yaml")
			text := "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: " + c.name + ", namespace: " + c.namespace + "}\nspec: {replicas: 2}\n"
			if err := os.WriteFile(scale, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			in, err := (&admitCommand{Files: []string{scale}, Old: []string{old}, Namespace: "default", Subresource: "scale"}).inputs(environment{})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v, want %s", err, c.err)
				}
				continue
			}
			if err != nil || len(in.writes) != 1 || in.writes[0].id.Kind != c.kind || (in.writes[0].old != nil) != (c.kind != "Scale") {
				t.Fatalf("%v, %+v, want %s", err, in, c.kind)
			}
		}
	}
}
