package definition

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// manifest returns a CRD with the given versions and schemas.
func manifest(versions ...string) string {
	var list []string
	for i := 0; i < len(versions); i += 2 {
		list = append(list, fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":%s}}`, versions[i], i == 0, versions[i+1]))
	}
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"as","kind":"A"},"versions":[` + strings.Join(list, ",") + `]}}`
}

func of(t *testing.T, text string, places bool) *Report {
	t.Helper()
	m, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON([]byte(text), tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if !places {
		root = 0
	}
	r, err := NewReport(context.Background(), m, Options{}, &Source{Doc: d, Root: root, Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVersions(t *testing.T) {
	const plain, short = `{"type":"object"}`, `{"type":"object","properties":{"s":{"type":"string","format":"k8s-short-name"}}}`
	const rules = `{"type":"object","properties":{"s":{"type":"array","items":{"type":"object","x-kubernetes-validations":[{"rule":"true"}]}}}}`
	r := of(t, manifest("v1beta1", plain, "v2", short, "v1", rules), true)
	if !r.Accepted() {
		t.Fatalf("%+v", r.Violations)
	}
	var got []string
	for _, v := range r.Versions {
		got = append(got, fmt.Sprintf("%s at %d, rules %v, %s", v.Name, v.Index, v.HasRules, v.LowestKubernetes))
	}
	if want := []string{"v2 at 1, rules false, 1.34", "v1 at 2, rules true, 1.25", "v1beta1 at 0, rules false, 1.25"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if r.LowestKubernetes != "1.34" || !r.HasRules {
		t.Errorf("of all versions: %s, rules %v", r.LowestKubernetes, r.HasRules)
	}
	if r = of(t, manifest("v1", plain), true); r.LowestKubernetes != "1.25" || r.HasRules || len(r.Warnings) != 0 {
		t.Errorf("a plain CRD: %s, rules %v, warnings %v", r.LowestKubernetes, r.HasRules, r.Warnings)
	}
}

func TestViolationsHavePositions(t *testing.T) {
	text := manifest("v1", `{"type":"object","properties":{"s":{"type":"array"}}}`)
	r := of(t, text, true)
	if len(r.Violations) != 1 {
		t.Fatalf("%+v", r.Violations)
	}
	f := r.Violations[0]
	if f.Path.Pointer() != "/spec/versions/0/schema/openAPIV3Schema/properties/s/items" || f.Schema != "/properties/s/items" {
		t.Errorf("at %s, in the schema at %s", f.Path.Pointer(), f.Schema)
	}
	if want := strings.Index(text, `{"type":"array"}`); f.Position.Offset != want || f.Position.Line != 2 {
		t.Errorf("%+v, want offset %d", f.Position, want)
	}
	f = of(t, text, false).Violations[0]
	if f.Position != (tree.Position{}) || f.Error.Error() != r.Violations[0].Error.Error() || f.Schema != "/properties/s/items" {
		t.Errorf("without a tree: %+v", f)
	}
}
