package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// TestAdmitRepository: what stands in a repository beside the objects of CRDs is passed over if that is asked for, here as with a service; everything else that
// cannot be judged stays an error. Old manifests are as they are in a repository, without what a server would have set.
func TestAdmitRepository(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"kite.yaml":               "apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: a}\nspec: {size: 1}\n",
		"cm.yaml":                 "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"values.yaml":             "image: {tag: x}\n",
		"below/kite.yaml":         "apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: b}\nspec: {size: many}\n",
		"below/values.yaml":       "image: {tag: x}\n",
		".git/kite.yaml":          "apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: c}\nspec: {size: many}\n",
		"more/kind.yaml":          "kind: Kite\nmetadata: {name: d}\n",
		"more/version.yaml":       "apiVersion: example.com/v9\nkind: Kite\nmetadata: {name: d}\n",
		"none/values.yaml":        "image: {tag: x}\n",
		"directories/below/x.yml": "apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: a}\n",
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	crd, err := filepath.Abs("testdata/admit-crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	socket := serving(t)
	for _, c := range []struct {
		args string
		code int
		told []string
	}{
		{". ", exitError, []string{"cm.yaml:1: ConfigMap a: error: ", "values.yaml:1: a document without a kind: error: ", "kite.yaml: Kite default/a: allowed", "2 documents could not be judged"}},
		{"--skip-other-kinds .", 0, []string{"kite.yaml: Kite default/a: allowed\n1 object: 1 allowed, 0 refused; passed over: 2 documents of other kinds\n"}},
		{"--skip-other-kinds -R kite.yaml below", exitRefused, []string{"below/kite.yaml: Kite b: refused\n", "2 objects: 1 allowed, 1 refused; passed over: 1 document of another kind\n"}},
		{"--skip-other-kinds -R .", exitError, []string{"more/kind.yaml:1: Kite d: error: ", "more/version.yaml:1: Kite d: error: ", "passed over: 4 documents of other kinds\n"}},
		{"--skip-other-kinds none", exitError, []string{"there is no object of a CRD that is given in the files; passed over: 1 document of another kind"}},
		{"directories", exitError, []string{"-R takes those of its directories"}},
		{"-R directories", 0, []string{"Kite default/a: allowed"}},
		{"--skip-other-kinds . --old kite.yaml --old none", 0, []string{"kite.yaml: Kite default/a: allowed as an update\n"}},
		{"-p {spec:{size:many}} kite.yaml", exitRefused, []string{"refused as a patch"}},
		{"-o yaml kite.yaml --old kite.yaml", 0, []string{"  name: a\n  namespace: default\nspec:"}},
	} {
		for _, at := range [][]string{nil, {"--server", socket}} {
			args := append(append([]string{"admit", "--crds", crd}, at...), strings.Fields(c.args)...)
			code, stdout, stderr := invoke(t, "", args...)
			for _, part := range c.told {
				if code != c.code || !strings.Contains(stdout+stderr, part) {
					t.Errorf("%q: exit code %d, not %q:\n%s%s", args, code, part, stdout, stderr)
				}
			}
			if strings.Contains(stdout, ".git") {
				t.Errorf("%q: %s", args, stdout)
			}
		}
	}
}
