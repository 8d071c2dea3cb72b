package workspace

import (
	"testing"
	"testing/fstest"

	"github.com/crdeval/crdeval/engine"
)

func TestFilter(t *testing.T) {
	fsys := fstest.MapFS{}
	for name, text := range map[string]string{
		"charts/app/Chart.yaml": "name: app", "charts/app/values.yaml": "a: b", "charts/app/values-prod.yaml": "a: b",
		"charts/app/crds/crd.yaml": "kind: X", "charts/app/templates/sub/x.yaml": "{{ .x }}", "charts/app/ci/prod-values.yaml": "a: b",
		"templates/x.yaml": "kind: X", "vendor/x/y.yaml": "kind: X", "k/kustomization.yaml": "resources: [crd.yaml]\n" +
			"patches: [{path: patch.yaml}, {patch: \"a:\\n  b\"}]\nconfigMapGenerator: [{name: a, files: [crd.yaml, x=other.yaml]}]\n",
		"k/crd.yaml": "kind: X", "k/patch.yaml": "kind: X", "k/other.yaml": "a: b",
		"o/kustomization.yml": "patchesStrategicMerge: [../k/far.yaml]\n", "k/far.yaml": "kind: X",
		"flux/kustomization.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\npatches: [{path: x.yaml}]\n",
		"flux/x.yaml":             "kind: X", "jinja.yaml": "{% if x %}\na: b\n{% endif %}\n", "helm.yaml": "a: {{ x }}\n",
		"quoted.yaml": "a: \"{{ x }}\"\n", "broken.yaml": "a: [ # {{ c }}\n",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	f, err := NewFilter(fsys, FilterOptions{Root: ".", Working: ".", Exclude: []string{"vendor"}, Templates: true})
	if err != nil {
		t.Fatal(err)
	}
	f.Visit("o/x.yaml")
	for name, want := range map[string]string{
		"charts/app/Chart.yaml": SkipHelmFile, "charts/app/values.yaml": SkipHelmFile, "charts/app/values-prod.yaml": SkipHelmFile,
		"charts/app/crds/crd.yaml": "", "charts/app/templates/sub/x.yaml": SkipHelmTemplate,
		"charts/app/ci/prod-values.yaml": SkipHelmFile, "templates/x.yaml": "", "vendor/x/y.yaml": SkipExcluded,
		"k/kustomization.yaml": SkipKustomization, "k/crd.yaml": "", "k/patch.yaml": SkipPatch, "k/other.yaml": SkipKustomizeFile,
		"k/far.yaml": SkipPatch, "flux/kustomization.yaml": "", "flux/x.yaml": "", "jinja.yaml": SkipTemplate,
		"helm.yaml": SkipTemplate, "quoted.yaml": "", "broken.yaml": "",
	} {
		if got := Load(t.Context(), FileSource(fsys, name, name, 1<<20), f).Skip.Kind; got != want {
			t.Errorf("%s is skipped as %q, want %q", name, got, want)
		}
	}
	if _, err := NewFilter(fsys, FilterOptions{Exclude: []string{"[a"}}); err == nil {
		t.Error("a broken glob is accepted")
	}
}

func TestSkipRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want bool
	}{
		"flux":           {"a: ${A}", true},
		"default":        {"a: \"${A:=3}\"", true},
		"template":       {"a: \"{{ .a }}\"", true},
		"valid":          {"a: 1", false},
		"other mistakes": {"a: x", false},
		"both":           {"a: ${A}\n  b: x", false},
		"shell":          {"a: $A", false},
		"braces":         {"a: ${}", false},
	} {
		w, files := load(t, map[string]string{"c.yaml": crdText("A", []string{"v1"}, "a", "b"),
			"x.yaml": "apiVersion: example.com/v1\nkind: A\nmetadata: {name: x}\nspec:\n  " + tc.spec + "\n"})
		m := files["x.yaml"].Manifests[0]
		answers := w.Evaluate(t.Context(), m.APIVersion, m.Kind, m.Path(), func(_ *CRD, d *engine.Definition) (*engine.Verdict, error) {
			return d.Validate(t.Context(), engine.Create{Object: m.Document}, engine.ValidateOptions{CompleteMetadata: true})
		})
		if got := m.SkipRejected(answers[0].Verdict).Kind; (got != "") != tc.want {
			t.Errorf("%s: %q, want %t", name, got, tc.want)
		}
	}
}
