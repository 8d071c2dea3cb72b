package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// manifestOf is a CRD of some plural; what follows changes lines of it.
func manifestOf(plural string, changes ...string) string {
	text := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ` + plural + `.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ` + plural + `, kind: ` + strings.ToUpper(plural[:1]) + plural[1:] + `}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
`
	return strings.NewReplacer(changes...).Replace(text)
}

// asJSONManifest is manifestOf as a JSON text of one line.
func asJSONManifest(plural, scope string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"` + plural + `.example.com"},"spec":{"group":"example.com","scope":"` + scope +
		`","names":{"plural":"` + plural + `","kind":"` + strings.ToUpper(plural[:1]) + plural[1:] + `"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
}

// spell writes results for people: outcome or reason, and where its violations are.
func spell(t *testing.T, results []*crdevalv1.RegisterCrdsResult) string {
	t.Helper()
	var b strings.Builder
	for _, r := range results {
		switch {
		case r.GetError() != nil:
			fmt.Fprintf(&b, "%s: %s", r.GetCrd(), reason(t, status.FromProto(r.GetError())))
		default:
			fmt.Fprintf(&b, "%s: %s", r.GetCrd(), strings.TrimPrefix(r.GetRegistration().GetOutcome().String(), "REGISTRATION_OUTCOME_"))
			for _, v := range r.GetRegistration().GetReport().GetViolations() {
				fmt.Fprintf(&b, " %s at %d:%d+%d", v.GetField(), v.GetPosition().GetLine(), v.GetPosition().GetColumn(), v.GetPosition().GetOffset())
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const toRegisterAll = "/v1/catalogs/default/crds:register"

// TestRegisterCrds: entries are registered in their order, and one's failure is its own.
func TestRegisterCrds(t *testing.T) {
	w := start(t, nil)
	request := &crdevalv1.RegisterCrdsRequest{Catalog: "default", Entries: []*crdevalv1.RegisterCrdsEntry{
		{Manifest: yamlDocument(manifestOf("apples"))},
		{Manifest: yamlDocument(manifestOf("pears", "Namespaced", "Everywhere"))},
		{Manifest: jsonDocument(asJSONManifest("plums", "Namespaced")), CreateOnly: true},
		{Manifest: yamlDocument(manifestOf("apples"))},
		{Manifest: yamlDocument(manifestOf("plums")), CreateOnly: true},
		{Manifest: yamlDocument(manifestOf("plums")), Etag: "other"},
		{Manifest: yamlDocument(manifestOf("plums")), Etag: "other", CreateOnly: true},
		{},
		{Manifest: jsonDocument(`{"kind":"Deployment","apiVersion":"apps/v1"}`)},
		{Manifest: yamlDocument("a: [")},
		{Manifest: yamlDocument(manifestOf("apples", "type: object", "{type: object, description: new}", "openAPIV3Schema:\n        ", "openAPIV3Schema: "))},
	}}
	const want = `apples.example.com: CREATED
pears.example.com: REJECTED spec.scope at 7:10+139
plums.example.com: CREATED
apples.example.com: UNCHANGED
plums.example.com: CRD_EXISTS
plums.example.com: ETAG_MISMATCH
: INVALID_ARGUMENT
: INVALID_ARGUMENT
: MANIFEST_UNREADABLE
: MANIFEST_UNREADABLE
apples.example.com: UPDATED
`
	got, err := w.registry.RegisterCrds(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if spell(t, got.GetResults()) != want || got.GetToken() == "" {
		t.Errorf("token %q\n%s", got.GetToken(), spell(t, got.GetResults()))
	}
	for _, r := range got.GetResults() {
		if n := len(r.GetRegistration().GetReport().GetVersions()); n != 0 {
			t.Errorf("%s: %d versions in the report", r.GetCrd(), n)
		}
	}
	crd, err := w.registry.GetCrd(t.Context(), &crdevalv1.GetCrdRequest{Catalog: "default", Crd: "apples.example.com", AtLeast: got.GetToken()})
	if err != nil || crd.GetCrd().GetGeneration() != 2 {
		t.Errorf("%v, %v", crd, err)
	}
}

// TestRegisterBodies: what a body of RegisterCrds may be, and that its violations point into it.
func TestRegisterBodies(t *testing.T) {
	bad := strings.NewReplacer("Namespaced", "Everywhere")
	indented := func(text string) string {
		return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
	}
	for name, c := range map[string]struct{ body, media, want string }{
		"one YAML manifest": {manifestOf("apples"), asYAML, "apples.example.com: CREATED\n"},
		"YAML documents": {
			"# a comment\n---\n" + manifestOf("apples") + "---\n# nothing\n---\n" + bad.Replace(manifestOf("pears")) + "---\n" + asJSONManifest("plums", "Everywhere") + "\n---\na: [\n", asYAML,
			"apples.example.com: CREATED\npears.example.com: REJECTED spec.scope HERE\nplums.example.com: REJECTED spec.scope HERE\n: MANIFEST_UNREADABLE\n",
		},
		"documents of other kinds": {"kind: Deployment\napiVersion: apps/v1\n---\n" + manifestOf("apples"), asYAML, ": MANIFEST_UNREADABLE\napples.example.com: CREATED\n"},
		"one JSON manifest":        {"\n " + asJSONManifest("apples", "Everywhere"), asJSON, "apples.example.com: REJECTED spec.scope HERE\n"},
		"JSON list": {
			"{\"kind\":\"List\",\n\"items\":[" + asJSONManifest("apples", "Cluster") + ",\n" + asJSONManifest("pears", "Everywhere") + "]}", asJSON,
			"apples.example.com: CREATED\npears.example.com: REJECTED spec.scope HERE\n",
		},
		"empty JSON list": {`{"kind":"CustomResourceDefinitionList","items":[]}`, asJSON, ""},
		"YAML list": {
			"apiVersion: v1\nkind: List\nitems:\n-\n" + indented(manifestOf("apples")) + "\n-\n" + indented(bad.Replace(manifestOf("pears"))) + "\n", asYAML,
			"apples.example.com: CREATED\npears.example.com: REJECTED spec.scope HERE\n",
		},
		"the request in YAML": {
			"entries:\n- manifest:\n" + indented(indented(bad.Replace(manifestOf("pears")))) + "\n  createOnly: true\n", asYAML,
			"pears.example.com: REJECTED spec.scope HERE\n",
		},
		"the request in JSON": {`{"entries":[{"createOnly":true,"manifest":` + asJSONManifest("pears", "Everywhere") + "}]}", asJSON, "pears.example.com: REJECTED spec.scope HERE\n"},
		"nothing to do":       {`{}`, asJSON, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil)
			var got crdevalv1.RegisterCrdsResponse
			w.do("POST", toRegisterAll, c.body, "Content-Type", c.media).into(t, &got)
			want, from := c.want, 0
			for strings.Contains(want, "HERE") {
				from += strings.Index(c.body[from:], "Everywhere")
				want = strings.Replace(want, "HERE", "at "+placeOf(c.body, from), 1)
				from++
			}
			if text := spell(t, got.GetResults()); text != want {
				t.Errorf("got\n%swant\n%s", text, want)
			}
		})
	}
}

// placeOf spells where a value stands, from an offset into its text: the quote before it is part of it.
func placeOf(text string, offset int) string {
	if text[offset-1] == '"' {
		offset--
	}
	line := strings.LastIndexByte(text[:offset], '\n') + 1
	return fmt.Sprintf("%d:%d+%d", strings.Count(text[:line], "\n")+1, offset-line+1, offset)
}

// TestRegisterBodiesThatAreNone: what a body of RegisterCrds may not be.
func TestRegisterBodiesThatAreNone(t *testing.T) {
	w := startWith(t, nil, func(o *api.Options) { o.Limits.MaxRegisterCrds = 3 })
	for name, c := range map[string]struct {
		body, media, reason, text string
		code                      int
	}{
		"empty":              {"", asYAML, "MALFORMED_BODY", "empty", 400},
		"comments":           {"# nothing\n---\n", asYAML, "MALFORMED_BODY", "empty", 400},
		"malformed manifest": {`{"kind":"CustomResourceDefinition","a":}`, asJSON, "MALFORMED_BODY", "line 1, column 40", 400},
		"two JSON values":    {asJSONManifest("a", "Cluster") + asJSONManifest("b", "Cluster"), asJSON, "MALFORMED_BODY", "something after the value", 400},
		"list of no list":    {`{"kind":"List","items":{}}`, asJSON, "MALFORMED_BODY", "array", 400},
		"unknown field":      {`{"manifests":[]}`, asJSON, "MALFORMED_BODY", "unknown field", 400},
		"other catalog":      {`{"catalog":"other"}`, asJSON, "INVALID_ARGUMENT", "path", 400},
		"query":              {`{}`, asJSON, "INVALID_ARGUMENT", "query", 400},
		"too many entries":   {`{"entries":[{},{},{},{}]}`, asJSON, "LIMIT_EXCEEDED", "max_register_crds", 413},
	} {
		t.Run(name, func(t *testing.T) {
			path := toRegisterAll
			if name == "query" {
				path += "?createOnly=true"
			}
			a := w.do("POST", path, c.body, "Content-Type", c.media)
			if st := a.status(t); a.code != c.code || reason(t, st) != c.reason || !strings.Contains(st.Message(), c.text) {
				t.Errorf("%d %s", a.code, a.text)
			}
		})
	}
	if a := w.do("POST", toRegisterAll, strings.Repeat(manifestOf("apples")+"---\n", 1001), "Content-Type", asYAML); a.code != http.StatusRequestEntityTooLarge || reason(t, a.status(t)) != "LIMIT_EXCEEDED" {
		t.Errorf("too many documents: %d %.200s", a.code, a.text)
	}
	items := strings.TrimSuffix(strings.Repeat("{},", 1001), ",")
	if a := w.do("POST", toRegisterAll, `{"kind":"List","items":[`+items+`]}`); a.code != http.StatusRequestEntityTooLarge || reason(t, a.status(t)) != "LIMIT_EXCEEDED" {
		t.Errorf("too many items: %d %.200s", a.code, a.text)
	}
	nodes := "kind: List\nitems:\n" + strings.Repeat("- {}\n", 200_000)
	if a := w.do("POST", toRegisterAll, nodes, "Content-Type", asYAML); a.code != http.StatusRequestEntityTooLarge || !strings.Contains(a.text, "max_yaml_nodes") {
		t.Errorf("too many nodes: %d %.200s", a.code, a.text)
	}
}
