package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
)

// TestScaleOf: a Scale belongs to the existing object of its namespace and name. Two such objects are an error.
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
		{"default", "b", "", "the Scale of b may belong to " + old + "[3] or to " + old + "[4]"},
	} {
		for range 8 { // maps have no order
			scale := filepath.Join(dir, "scale.yaml")
			text := "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: " + c.name + ", namespace: " + c.namespace + "}\nspec: {replicas: 2}\n"
			if err := os.WriteFile(scale, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			command := &admitCommand{Old: []string{old}, Namespace: "default", Subresource: "scale"}
			w, err := newWriter(t.Context(), command, input.Reader{})
			if err != nil {
				t.Fatal(err)
			}
			write := w.write(workspace.Parse(workspace.Source{Name: scale}, []byte(text), 0).Manifests[0])
			if c.err != "" {
				if write.err == nil || !strings.Contains(write.err.Error(), c.err) {
					t.Fatalf("%v, want %s", write.err, c.err)
				}
				continue
			}
			if write.kind != c.kind || (write.old != nil) != (c.kind != "Scale") || (write.err != nil) != (c.kind == "Scale") {
				t.Fatalf("%+v, want %s", write, c.kind)
			}
		}
	}
}

// TestAdmitRepository checks a repository that also has other documents, in this process and with a service.
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
		"null.yaml":               "apiVersion: v1\nkind: List\nitems: null\n",
		"list/items.json":         `{"apiVersion": "v1", "kind": "List"}`,
		"none/values.yaml":        "image: {tag: x}\n",
		"empty.yaml":              "",
		"empty/a.yaml":            "",
		"empty/comments.yaml":     "# nothing\n---\n# here\n",
		"hidden/.kite.yaml":       "apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: c}\nspec: {size: many}\n",
		"typo/kite.yaml":          "apiVersion: example.com/v1\nkind: kite\nmetadata: {name: a}\nspec: {size: many}\n",
		"typo/kyte.yml":           "apiVersion: example.com/v1\nkind: Kyte\nmetadata: {name: a}\nspec: {size: many}\n",
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
		want []string
	}{
		{". ", exitError, []string{"values.yaml:1: a document without a kind: error: ", "kite.yaml: Kite a: allowed", "not checked: 1 object of built-in kinds", "1 document could not be checked"}},
		{"--skip-other-kinds .", 0, []string{"kite.yaml: Kite a: allowed\n1 object: 1 allowed, 0 rejected\nnot checked: 1 object of built-in kinds\nskipped 1 document: 1 that is not a manifest\n"}},
		{"--skip-other-kinds -R kite.yaml below", exitRejected, []string{"below/kite.yaml: Kite b: rejected\n", "2 objects: 1 allowed, 1 rejected\nskipped 1 document: 1 that is not a manifest\n"}},
		{"--skip-other-kinds -R .", exitError, []string{"more/version.yaml:1: Kite d: error: ", "skipped 4 documents: 4 that are not manifests\n"}},
		{"--skip-other-kinds none", exitError, []string{"0 objects: 0 allowed, 0 rejected\nskipped 1 document: 1 that is not a manifest\n", "nothing was evaluated"}},
		{"-v cm.yaml", exitError, []string{"cm.yaml:1: ConfigMap a: not checked: ConfigMap is a built-in kind"}},
		{"-o junit cm.yaml", exitError, []string{`tests="1" failures="0" errors="0" skipped="1"`, `<skipped message="the kind is built in`}},
		{"-o json cm.yaml", exitError, []string{`"class":"built-in kind"`, `"builtin":1`}},
		{"--skip-other-kinds typo", exitError, []string{"typo/kite.yaml:1: kite a: error: no CRD for kite (example.com/v1): did you mean Kite (example.com)?"}},
		{"--skip-other-kinds typo/kyte.yml", exitError, []string{"no CRD for Kyte (example.com/v1): did you mean Kite (example.com)?"}},
		{"null.yaml", exitError, []string{"0 objects: 0 allowed, 0 rejected\n"}},
		{"--skip-other-kinds list", exitError, []string{"list/items.json:1: List: error: the field items of the List is missing or not a list\n"}},
		{"empty", exitError, []string{"0 objects: 0 allowed, 0 rejected\n"}},
		{"empty/comments.yaml kite.yaml", 0, []string{"kite.yaml: Kite a: allowed\n1 object: 1 allowed, 0 rejected\n"}},
		{"--crds empty kite.yaml", exitError, []string{"empty has no CustomResourceDefinition"}},
		{"hidden", exitError, []string{"the directory has no .yaml, .yml or .json file"}},
		{"hidden/.kite.yaml", exitRejected, []string{"hidden/.kite.yaml: Kite c: rejected"}},
		{"directories", exitError, []string{"use -R to include subdirectories"}},
		{"-R directories", 0, []string{"Kite a: allowed"}},
		{"--skip-other-kinds . --old kite.yaml --old none", 0, []string{"kite.yaml: Kite a: allowed as an update\n"}},
		{"-p {spec:{size:many}} kite.yaml", exitRejected, []string{"rejected as a patch"}},
		{"--patch=null kite.yaml", exitError, []string{"--patch: the patch is empty\n"}},
		{"cm.yaml below/kite.yaml", exitRejected, []string{"1 object: 0 allowed, 1 rejected\n"}},
		{"-o yaml kite.yaml --old kite.yaml", 0, []string{"  name: a\n  namespace: default\nspec:"}},
	} {
		for _, at := range [][]string{nil, {"--server", socket}} {
			args := append(append([]string{"admit", "--crds", crd}, at...), strings.Fields(c.args)...)
			code, stdout, stderr := invoke(t, "", args...)
			for _, part := range c.want {
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

// TestStrictDecoding: duplicate keys have the lines of the file, and the violations of validation follow.
func TestStrictDecoding(t *testing.T) {
	t.Chdir("testdata")
	path := file(t, "# comment\napiVersion: example.com/v1\nkind: Kite\nmetadata: {name: a}\n---\n"+
		"apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: b}\nspec:\n  size: 99\n  colour: Rad\n  size: 98\n  nope: 1\n")
	code, stdout, _ := invoke(t, "", "admit", "--crds", "admit-crd.yaml", path)
	for _, want := range []string{
		path + ":12:3: spec.size: duplicate field\n", path + ":13:3: spec.nope: unknown field\n",
		path + ":11:11: spec.colour: Unsupported value: \"Rad\"", path + ":12:9: spec.size: Invalid value: 98",
		"2 objects: 1 allowed, 1 rejected\n",
	} {
		if code != exitRejected || strings.Count(stdout, want) != 1 {
			t.Errorf("%d, not %q:\n%s", code, want, stdout)
		}
	}
	code, stdout, _ = invoke(t, "", "admit", "--crds", "admit-crd.yaml", "--field-validation", "warn", path)
	if code != exitRejected || !strings.Contains(stdout, path+`:12:3: warning: duplicate field "spec.size"`) {
		t.Errorf("%d\n%s", code, stdout)
	}
}

// TestEstablishedCRD: a CRD of a cluster is used with its status. While it is being deleted, creations are rejected.
func TestEstablishedCRD(t *testing.T) {
	const object = "apiVersion: example.com/v1\nkind: Good\nmetadata: {name: a}\n"
	const status = "status:\n  conditions:\n  - {type: Established, status: \"True\", reason: A, message: b}\n" +
		"  acceptedNames: {plural: goods, kind: Good, singular: good, listKind: GoodList}\n  storedVersions: [v1]\n"
	deleted := strings.Replace(good, "{name: goods.example.com}", `{name: goods.example.com, deletionTimestamp: "2026-01-01T00:00:00Z"}`, 1)
	for crd, want := range map[string]string{
		good + status:    "1 object: 1 allowed, 0 rejected\n",
		deleted + status: `"a" is forbidden: create not allowed while custom resource definition is terminating`,
	} {
		if _, stdout, stderr := invoke(t, object, "admit", "--crds", file(t, crd), "-"); !strings.Contains(stdout, want) {
			t.Errorf("%s%s\nwant %s", stdout, stderr, want)
		}
	}
}
