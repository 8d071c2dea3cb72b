package assist

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/workspace"
)

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [policy]
            properties:
              replicas: {type: integer, minimum: 1, default: 1, description: How many.}
              policy: {type: string, enum: [Allow, Forbid]}
              jobs: {type: array, maxItems: 3, items: {type: object, properties: {name: {type: string}}}}
`

const object = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: ä🙂}\nspec:\n"

// assistant returns an Assistant with the CRDs of a text.
func assistant(tb testing.TB, text string) *Assistant {
	tb.Helper()
	a := &Assistant{CRDs: &workspace.Workspace{}}
	set(a, text)
	return a
}

// set replaces the CRDs.
func set(a *Assistant, text string) {
	a.CRDs.Set(workspace.Parse(workspace.Source{Name: "crd"}, []byte(text), 0))
}

// TestComplete checks the completions at | in a text.
func TestComplete(t *testing.T) {
	a := assistant(t, crd)
	for name, c := range map[string]struct {
		text     string
		replaced string   // the text that a completion replaces
		want     []string // completions: filter, text and detail
	}{
		"fields": {object + "  |", "", []string{
			`policy "policy: " string, required`, `jobs "jobs:\n    - " []object`, `replicas "replicas: " integer`,
		}},
		"the rest of the fields": {object + "  policy: Allow\n  jobs: []\n  re|p", "rep", []string{
			`replicas "replicas: " integer`,
		}},
		"values":                {object + "  policy: For|", "For", []string{`Allow "Allow" `, `Forbid "Forbid" `}},
		"a value after a colon": {object + "  policy:|", "", []string{`Allow " Allow" `, `Forbid " Forbid" `}},
		"an item":               {object + "  jobs:\n  - |", "", []string{`name "name: " string`}},
		"a kind": {"apiVersion: stable.example.com/v1\nkind: |", "", []string{
			`CronTab "CronTab" stable.example.com/v1`,
		}},
		"JSON": {`{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "spec": {"policy": "é", "rep|"}}`, `"rep"`,
			[]string{
				`"jobs" "\"jobs\": " []object`, `"replicas" "\"replicas\": " integer`,
			}},
		"a CRD": {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  scope: |", "", []string{
			`Namespaced "Namespaced" `, `Cluster "Cluster" `,
		}},
		"no schema":       {"apiVersion: a/v1\nkind: B\nspec:\n  |", "", nil},
		"no such version": {strings.Replace(object, "/v1", "/v2", 1) + "  |", "", nil},
		"a comment":       {object + "  # |", "", nil},
	} {
		before, after, _ := strings.Cut(c.text, "|")
		got := a.Complete(t.Context(), "", []byte(before+after), len(before))
		var items []string
		for _, item := range got.Items {
			items = append(items, item.Filter+" "+quoted(item.Text)+" "+item.Detail)
		}
		if !slices.Equal(items, c.want) {
			t.Errorf("%s: %q, want %q", name, items, c.want)
		}
		if len(c.want) > 0 && (before + after)[got.Begin:got.End] != c.replaced {
			t.Errorf("%s replaces %q, want %q", name, (before + after)[got.Begin:got.End], c.replaced)
		}
	}
}

// quoted returns a text in quotes, with a visible line end.
func quoted(text string) string {
	return `"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(text) + `"`
}

// TestHover checks the hover at | in a text.
func TestHover(t *testing.T) {
	a := assistant(t, crd)
	for name, c := range map[string]struct {
		text, want string // the key, the path, the type and the details; "": no hover
		in         string // part of the text
	}{
		"a key": {object + "  repl|icas: 2", "replicas spec.replicas integer [Default: `1` Minimum: `1`]", "How many."},
		"a value": {object + "  policy: Al|low",
			"policy spec.policy string [Required Values: `\"Allow\"`, `\"Forbid\"`]", "FIELD: policy"},
		"an item": {object + "  jobs:\n  - nam|e: ü", "name spec.jobs[0].name string []", "FIELD: name"},
		"a CRD": {strings.Replace(crd, "scope:", "sco|pe:", 1),
			"scope spec.scope string [Required Values: `\"Namespaced\"`, `\"Cluster\"`]",
			"Whether the objects belong to namespaces."},
		"an unknown field": {object + "  colo|ur: red", "", ""},
		"an unknown kind":  {"apiVersion: a/v1\nkind: B\nsp|ec: {}\n", "", ""},
		"between fields":   {object + "  |\n  policy: Allow", "", ""},
	} {
		before, after, _ := strings.Cut(c.text, "|")
		h, got := a.Hover(t.Context(), "", []byte(before+after), len(before)), ""
		if h != nil {
			var details []string
			for _, d := range h.Details {
				details = append(details, d.String())
			}
			got = (before + after)[h.Begin:h.End] + " " + h.Path + " " + h.Type + " [" + strings.Join(details, " ") + "]"
			if !strings.Contains(h.Text, c.in) {
				t.Errorf("%s: text %q, want %q in it", name, h.Text, c.in)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestCompiledOnce checks that a CRD is compiled only when a field of its objects is needed, and once. Its decoded
// schema is dropped with it.
func TestCompiledOnce(t *testing.T) {
	compiled := 0
	a := &Assistant{CRDs: &workspace.Workspace{}}
	a.CRDs.Compiler = func(ctx context.Context, c *workspace.CRD) *workspace.Compiled {
		compiled++
		return c.Compile(ctx, a.CRDs.Options)
	}
	check := func(what, text string, want int) {
		t.Helper()
		a.Complete(t.Context(), "", []byte(text), len(text))
		a.Hover(t.Context(), "", []byte(text), len(text)-2)
		if compiled != want {
			t.Errorf("after %s, %d compilations, want %d", what, compiled, want)
		}
	}
	set(a, crd)
	check("a kind", "apiVersion: stable.example.com/v1\nkind: ", 0)
	before, _, _ := strings.Cut(crd, "scope")
	check("the field of a CRD", before, 0)
	check("a field", object+"  replicas", 1)
	check("another field", object+"  policy", 1)
	set(a, strings.Replace(crd, "minimum: 1", "minimum: 2", 1))
	check("a change of the CRD", object+"  replicas", 2)
	if len(a.schemas) != 1 {
		t.Errorf("%d decoded schemas, want 1", len(a.schemas))
	}
}
