package workspace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/crdeval/crdeval/engine"
)

// crdText returns a CRD of the group example.com whose versions have a spec with these integer fields.
func crdText(kind string, versions []string, fields ...string) string {
	var b strings.Builder
	plural := strings.ToLower(kind) + "s"
	fmt.Fprintf(&b, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %s.example.com}\n", plural)
	fmt.Fprintf(&b, "spec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: %s, plural: %s}\n  versions:\n", kind, plural)
	for i, v := range versions {
		fmt.Fprintf(&b, "  - name: %s\n    served: true\n    storage: %t\n    schema:\n      openAPIV3Schema:\n        type: object\n", v, i == 0)
		b.WriteString("        properties:\n          spec:\n            type: object\n            properties:\n")
		for _, field := range fields {
			fmt.Fprintf(&b, "              %s: {type: integer}\n", field)
		}
	}
	return b.String()
}

// object returns an object of a kind of the group example.com with a field a and a field b.
func object(version, kind string) string {
	return fmt.Sprintf("apiVersion: example.com/%s\nkind: %s\nmetadata: {name: x, namespace: z}\nspec: {a: 1, b: 2}\n", version, kind)
}

// load returns a workspace with all files, and the files by path. Paths in given are those that the user named.
func load(t *testing.T, files map[string]string, given ...string) (*Workspace, map[string]*File) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	w, read := &Workspace{}, map[string]*File{}
	for s := range Walk(fsys, ".", WalkOptions{Recursive: true}) {
		s.Given = slices.Contains(given, s.Path)
		f := Load(t.Context(), s, nil)
		if f.Err != nil {
			t.Fatalf("%s: %v", s.Name, f.Err)
		}
		w.Set(f)
		read[s.Path] = f
	}
	return w, read
}

func TestChoose(t *testing.T) {
	one, two := crdText("A", []string{"v1"}, "a"), crdText("A", []string{"v1"}, "a", "b")
	for name, tc := range map[string]struct {
		files map[string]string
		given []string
		file  string // of the object
		want  string
	}{
		"folder of the object": {files: map[string]string{"p/flux/c.yaml": one, "s/flux/c.yaml": two},
			file: "p/apps/x.yaml", want: "p/flux/c.yaml"},
		"named by the user": {files: map[string]string{"p/c.yaml": one, "s/c.yaml": two}, given: []string{"s/c.yaml"},
			file: "p/x.yaml", want: "s/c.yaml"},
		"same file": {files: map[string]string{"p/c.yaml": one, "p/x.yaml": two}, file: "p/x.yaml", want: "p/x.yaml"},
		"deeper than the object": {files: map[string]string{"p/a/c.yaml": one, "p/a/b/c.yaml": two}, file: "p/x.yaml",
			want: "p/a/b/c.yaml p/a/c.yaml"},
		"several": {files: map[string]string{"p/c.yaml": one, "s/c.yaml": two}, file: "x.yaml", want: "p/c.yaml s/c.yaml"},
		"the nearest has another version": {files: map[string]string{"p/c.yaml": crdText("A", []string{"v2"}, "a"), "s/c.yaml": two},
			file: "p/x.yaml", want: "p/c.yaml"},
		"fragments claim nothing": {files: map[string]string{
			"p/patch.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.com}\n" +
				"spec: {conversion: {strategy: None}}\n", "s/c.yaml": two}, file: "p/x.yaml", want: "s/c.yaml"},
		"none": {files: map[string]string{"c.yaml": crdText("B", []string{"v1"}, "a")}, file: "x.yaml", want: ""},
	} {
		w, _ := load(t, tc.files, tc.given...)
		var got []string
		for _, c := range w.Choose("example.com/v1", "A", tc.file) {
			got = append(got, c.In.Path)
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
	}
}

func TestEvaluate(t *testing.T) {
	one, two, three := crdText("A", []string{"v1"}, "a"), crdText("A", []string{"v1"}, "a", "b"), crdText("A", []string{"v1"}, "a", "b", "c")
	rejected := strings.Replace(one, "plural: as", "plural: AS", 1)
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string // the files of the CRDs of each answer, and whether it is allowed, or the error
	}{
		"one":                {map[string]string{"c.yaml": two}, []string{"c.yaml: true"}},
		"same answer":        {map[string]string{"p/c.yaml": two, "s/c.yaml": three}, []string{"p/c.yaml, s/c.yaml: true"}},
		"same CRD":           {map[string]string{"p/c.yaml": two, "s/c.yaml": two}, []string{"p/c.yaml: true"}},
		"other answers":      {map[string]string{"p/c.yaml": one, "s/c.yaml": two}, []string{"p/c.yaml: false", "s/c.yaml: true"}},
		"three":              {map[string]string{"p/c.yaml": one, "q/c.yaml": two, "s/c.yaml": three}, []string{"p/c.yaml: false", "q/c.yaml, s/c.yaml: true"}},
		"nearest is invalid": {map[string]string{"c.yaml": rejected, "s/c.yaml": two}, []string{"s/c.yaml: true"}},
		"one is invalid":     {map[string]string{"p/c.yaml": rejected, "s/c.yaml": two}, []string{"s/c.yaml: true"}},
		"all are invalid": {map[string]string{"p/c.yaml": rejected},
			[]string{": its CRD as.example.com in p/c.yaml is rejected: metadata.name: Invalid value: \"as.example.com\": must be spec.names.plural+\".\"+spec.group"}},
		"no CRD":       {map[string]string{"x.yaml": "a: b"}, []string{": no CRD for A (example.com/v1): add its CRD to the files, or name it with --crds"}},
		"similar kind": {map[string]string{"p/c.yaml": crdText("Apple", []string{"v1"}, "a")}, []string{": no CRD for A (example.com/v1): add its CRD to the files, or name it with --crds"}},
	} {
		w, _ := load(t, tc.files)
		m := New(engine.YAML([]byte(object("v1", "A"))))
		var got []string
		for _, a := range w.Evaluate(t.Context(), m.APIVersion, m.Kind, "x.yaml",
			func(_ *CRD, d *engine.Definition) (*engine.Verdict, error) {
				return d.Validate(t.Context(), engine.Create{Object: m.Document},
					engine.ValidateOptions{FieldValidation: engine.FieldValidationStrict, CompleteMetadata: true})
			}) {
			if a.Err != nil {
				got = append(got, a.Files()+": "+a.Err.Error())
			} else {
				got = append(got, fmt.Sprintf("%s: %t", a.Files(), a.Verdict.Allowed))
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestCombine: answers with the same warnings, at the same place, are the same.
func TestCombine(t *testing.T) {
	answer := func(text string) Answer {
		at := &engine.Position{Line: 5, Column: 10}
		return Answer{CRDs: []*CRD{{}}, Verdict: &engine.Verdict{Allowed: true, Warnings: []engine.Warning{{
			Type: engine.TypeUnknownField, Text: text, Pointer: "/spec/b", Position: at}}}}
	}
	const one, other = `unknown field "spec.b"`, `unknown field "spec.c"`
	if got := Combine([]Answer{answer(one), answer(other), answer(one)}); len(got) != 2 || len(got[0].CRDs) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestSimilar(t *testing.T) {
	w, _ := load(t, map[string]string{"c.yaml": crdText("HTTPRoute", []string{"v1"}, "a")})
	for _, tc := range []struct{ apiVersion, kind, want string }{
		{"example.com/v1", "HttpRoute", "HTTPRoute example.com"}, {"example.com/v1", "HTTPRoutes", "HTTPRoute example.com"},
		{"Example.com/v1", "HTTPRoute", "HTTPRoute example.com"}, {"example.com/v1", "Gateway", " "},
		{"other.com/v1", "HTTPRoute", " "},
	} {
		kind, group := w.Similar(tc.apiVersion, tc.kind)
		if got := kind + " " + group; got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.apiVersion, tc.kind, got, tc.want)
		}
	}
}

func TestClassify(t *testing.T) {
	w, files := load(t, map[string]string{
		"crd.yaml": crdText("A", []string{"v1"}, "a"),
		"fragment.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n" +
			"spec: {conversion: {strategy: Webhook}}\n",
		"object.yaml": object("v1", "A"), "other.yaml": object("v1", "B"), "values.yaml": "a: b\n", "broken.yaml": "a: [\n",
		"core.yaml": "apiVersion: v1\nkind: Service\n", "apps.yaml": "apiVersion: apps/v1\nkind: Deployment\n",
		"kubelet.yaml": "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
		"gateway.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\n", "kind.yaml": "kind: A\n",
		"skaffold.yaml": "apiVersion: skaffold/v4beta1\nkind: Config\n", "compose.yaml": "apiVersion: \"3\"\nkind: Compose\n",
	})
	for name, want := range map[string]Class{
		"crd.yaml": ClassCRD, "fragment.yaml": ClassFragment, "object.yaml": ClassObject, "other.yaml": ClassWithoutCRD,
		"values.yaml": ClassUntyped, "broken.yaml": ClassUnreadable, "core.yaml": ClassBuiltIn, "apps.yaml": ClassBuiltIn,
		"kubelet.yaml": ClassBuiltIn, "gateway.yaml": ClassWithoutCRD, "kind.yaml": ClassUntyped,
		"skaffold.yaml": ClassUntyped, "compose.yaml": ClassUntyped,
	} {
		f := files[name]
		if got := w.Classify(f.Manifests[0]); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestSet checks that CRDs with the same text stay compiled, and that a file that the user named stays so.
func TestSet(t *testing.T) {
	text := crdText("A", []string{"v1"}, "a")
	read := func(text string, given bool) *File {
		return Parse(Source{Name: "c.yaml", Path: "c.yaml", Given: given}, []byte(text), 0)
	}
	w := &Workspace{}
	first := read(text, true)
	if !w.Set(first) {
		t.Error("a new file changes nothing")
	}
	compiled := w.Compile(t.Context(), first.CRDs[0])
	second := read(text+"---\n# a comment\n", false)
	if w.Set(second) {
		t.Error("an empty document is a change")
	}
	if !second.Given || second.CRDs[0].Compiled() != compiled {
		t.Error("the CRD is not compiled any more, or its file is not given")
	}
	if !w.Set(read(crdText("A", []string{"v1"}, "b"), false)) || !w.Remove(Source{Path: "c.yaml"}) || len(w.Files()) != 0 {
		t.Error("a changed and a removed file change nothing")
	}
}

func TestWalk(t *testing.T) {
	file := &fstest.MapFile{Data: []byte("a: b")}
	fsys := fstest.MapFS{
		"b.yaml": file, "a/c.yml": file, "a/d.json": file, ".hidden.yaml": file, ".git/e.yaml": file, "a/f.txt": file,
		"node_modules/g.yaml": file, "pipe.yaml": {Mode: 1 << 25},
	}
	for recursive, want := range map[bool]string{true: "a/c.yml a/d.json b.yaml", false: "b.yaml"} {
		var got []string
		skips := func(name string) bool { return name == "node_modules" }
		for s := range Walk(fsys, ".", WalkOptions{Recursive: recursive, Skips: skips}) {
			got = append(got, s.Name)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
	for s := range Walk(fsys, "missing", WalkOptions{}) {
		if f := Load(t.Context(), s, nil); f.Err == nil || s.Name != "missing" {
			t.Errorf("%s: %v", s.Name, f.Err)
		}
	}
}

func TestSizes(t *testing.T) {
	text := strings.Repeat("x", 3<<20)
	for _, size := range []int64{0, 1, int64(len(text))} {
		got, err := readBounded(t.Context(), strings.NewReader(text), size, int64(len(text)))
		if err != nil || string(got) != text {
			t.Errorf("size %d: %d bytes, %v", size, len(got), err)
		}
		if _, err = readBounded(t.Context(), strings.NewReader(text), size, int64(len(text))-1); err == nil {
			t.Errorf("size %d: a longer text is read", size)
		}
	}
	failed := errors.New("failed")
	if _, err := readBounded(t.Context(), readerFunc(func([]byte) (int, error) { return 0, failed }), 0, 1); !errors.Is(err, failed) {
		t.Error(err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
