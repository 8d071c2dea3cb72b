package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func parse(t testing.TB, text string) *Props {
	t.Helper()
	s := &Props{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnyVisitsAllKeywordsInOrder(t *testing.T) {
	s := parse(t, `{"title":"root","items":{"title":"items"},"allOf":[{"title":"allOf"}],"anyOf":[{"title":"anyOf"}],"oneOf":[{"title":"oneOf"}],
		"not":{"title":"not"},"properties":{"b":{"title":"b"},"a":{"title":"a","items":[{"title":"first"},{"title":"second"}]}},
		"additionalProperties":{"title":"additionalProperties"},"patternProperties":{"x":{"title":"patternProperties"}},
		"additionalItems":{"title":"additionalItems"},"definitions":{"x":{"title":"definitions"}},
		"dependencies":{"y":["z"],"x":{"title":"dependencies"}}}`)
	var seen, unordered []string
	if AnySorted(s, func(s *Props) bool { seen = append(seen, s.Title); return false }) ||
		Any(s, func(s *Props) bool { unordered = append(unordered, s.Title); return false }) {
		t.Error("no schema satisfied the predicate")
	}
	want := "root items allOf anyOf oneOf not a first second b additionalProperties patternProperties additionalItems definitions dependencies"
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	slices.Sort(seen)
	if slices.Sort(unordered); !slices.Equal(seen, unordered) {
		t.Errorf("Any visits %v", unordered)
	}
	if !Any(s, func(s *Props) bool { return s.Title == "dependencies" }) || Any(nil, func(*Props) bool { return true }) {
		t.Error("Any does not answer")
	}
}

func TestHas(t *testing.T) {
	rules := parse(t, `{"properties":{"a":{"items":{"x-kubernetes-validations":[{"rule":"true"}]}}}}`)
	defaults := parse(t, `{"additionalProperties":{"default":1}}`)
	if !HasRules(rules) || HasRules(defaults) || HasDefaults(rules) || !HasDefaults(defaults) || HasRules(nil) || HasDefaults(nil) {
		t.Error("HasRules and HasDefaults do not differ")
	}
}

func TestUnsupported(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"object","definitions":{},"dependencies":{},"patternProperties":{},"$ref":"","items":[]}`: "",
		`{"properties":{"b":{"id":"x"},"a":{"$schema":"x"}}}`:                                              "OpenAPIV3Schema 'schema' is not supported",
		`{"not":{"anyOf":[{"$ref":"x"}]}}`:                                                                 "OpenAPIV3Schema '$ref' is not supported",
		`{"additionalProperties":{"patternProperties":{"a":{}}}}`:                                          "OpenAPIV3Schema 'patternProperties' is not supported",
		`{"items":{"dependencies":{"a":[]}}}`:                                                              "OpenAPIV3Schema 'dependencies' is not supported",
		`{"additionalItems":true}`:                                                                         "OpenAPIV3Schema 'additionalItems' is not supported",
		`{"definitions":{"a":{}}}`:                                                                         "OpenAPIV3Schema 'definitions' is not supported",
		`{"items":[{}]}`:                                                                                   "OpenAPIV3Schema 'items' must be a schema, but is an array",
		`{"x-kubernetes-preserve-unknown-fields":false}`:                                                   "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
	} {
		got := ""
		if err := Unsupported(parse(t, text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if Unsupported(nil) != nil {
		t.Error("no schema is not an unsupported one")
	}
}

func TestStructuralIsSorted(t *testing.T) {
	errs := Structural(field.NewPath("s"), parse(t, `{"properties":{"b":{},"a":{"type":"array"}},"additionalProperties":true}`), nil)
	var got []string
	for _, e := range errs {
		got = append(got, e.Field)
	}
	if want := []string{"s.additionalProperties", "s.properties[a].items", "s.properties[b].type", "s.type"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestResolve(t *testing.T) {
	s := parse(t, `{"type":"object","properties":{"a":{"type":"object","properties":{"b.c":{"type":"string"},"q'":{"type":"integer"}}},
		"m":{"type":"object","additionalProperties":{"type":"boolean"}},"any":{"type":"object","additionalProperties":true},
		"l":{"type":"array","items":{"type":"string"}}}}`)
	for _, c := range []struct{ path, at, typ, err string }{
		{"", "<nil>", "object", ""},
		{".a", "a", "object", ""},
		{".a['b.c']", "a.b.c", "string", ""},
		{`.a['q\'']`, "a.q'", "integer", ""},
		{"['m']['k.l']", "m[k.l]", "boolean", ""},
		{".m.k", "m[k]", "boolean", ""},
		{".any.x", "any[x]", "", ""},
		{".any.x.y", "", "", "does not refer to a valid field"},
		{".l[0]", "", "", "expected single quoted string but got 0"},
		{".l['0']", "", "", "does not refer to a valid field"},
		{".zzz", "", "", "does not refer to a valid field"},
		{"a", "", "", "expected [ or . but got: a"},
		{".", "", "", "unexpected end of JSON path"},
		{".a[", "", "", "unexpected end of JSON path"},
		{".a['b.c'", "", "", "unexpected end of JSON path"},
		{".a['b.c'.", "", "", "expected ] but got ."},
		{`.a['\x']`, "", "", `invalid string literal: invalid escape char \x`},
		{".m['k", "", "", "expected single quoted string but got 'k"},
	} {
		at, found, err := Resolve(c.path, s, true)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: got error %v, want %s", c.path, err, c.err)
			}
			continue
		}
		typ := ""
		if found != nil {
			typ = found.Type
		}
		if err != nil || at.Bracketed() != c.at || typ != c.typ {
			t.Errorf("%s: got %s, %q, %v, want %s, %q", c.path, at, typ, err, c.at, c.typ)
		}
	}
	if _, _, err := Resolve(".a['b.c']", s, false); err == nil || err.Error() != "array notation is not allowed" {
		t.Errorf("brackets: %v", err)
	}
	if _, _, err := Resolve(".a", nil, true); err == nil {
		t.Error("a path leads nowhere without a schema")
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"type":"object"}`, `{"type":"object","required":[],"properties":{}}`, true},
		{`{"default":{"a":1,"b":[2]}}`, `{"default":{"b":[2],"a":1}}`, true},
		{`{"default":1}`, `{"default":1.0}`, false},
		{`{"default":1.0}`, `{"default":1e0}`, true},
		{`{"default":null}`, `{}`, true},
		{`{"enum":[null,"a"]}`, `{"enum":[null,"a"]}`, true},
		{`{"enum":[null]}`, `{"enum":[0]}`, false},
		{`{"minimum":1}`, `{"minimum":1.0}`, true},
		{`{"x-kubernetes-list-type":""}`, `{}`, false},
		{`{"additionalProperties":true}`, `{"additionalProperties":{}}`, false},
	} {
		if got := Equal(parse(t, c.a), parse(t, c.b)); got != c.same {
			t.Errorf("%s, %s: got %v", c.a, c.b, got)
		}
	}
}

func crd(versions ...apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.CustomResourceDefinition {
	c := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "crontabs.example.com"}}
	c.Spec.Group, c.Spec.Names.Kind, c.Spec.Versions = "example.com", "CronTab", versions
	return c
}

func TestVersions(t *testing.T) {
	c := crd(
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "foo1"},
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1beta1", Deprecated: true, Served: true},
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "v10", Served: true, Storage: true},
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2", Served: true, Deprecated: true},
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "v11alpha2"},
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "foo10"},
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "v12", Served: false},
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "v3beta1", Served: true},
	)
	var got []string
	for _, i := range Priority(c.Spec.Versions) {
		got = append(got, c.Spec.Versions[i].Name)
	}
	if want := []string{"v12", "v10", "v2", "v3beta1", "v1beta1", "v11alpha2", "foo1", "foo10"}; !slices.Equal(got, want) {
		t.Errorf("priority: got %q, want %q", got, want)
	}
	if Storage(c).Name != "v10" || Find(c, "foo1") != &c.Spec.Versions[0] || Find(c, "v99") != nil || Storage(crd()) != nil {
		t.Error("versions are not found")
	}
	own := "my own words"
	for _, w := range []struct{ version, want string }{
		{"v1beta1", "example.com/v1beta1 CronTab is deprecated; use example.com/v10 CronTab"},
		{"v2", "example.com/v2 CronTab is deprecated; use example.com/v10 CronTab"},
		{"v10", ""},
	} {
		if got := Deprecation(c, Find(c, w.version)); got != w.want {
			t.Errorf("%s: got %q, want %q", w.version, got, w.want)
		}
	}
	last := &apiextensionsv1.CustomResourceDefinitionVersion{Name: "v10", Deprecated: true, Served: true}
	if got := Deprecation(crd(*last), last); got != "example.com/v10 CronTab is deprecated" {
		t.Errorf("nothing better: %q", got)
	}
	last.DeprecationWarning = &own
	if got := Deprecation(crd(*last), last); got != own {
		t.Errorf("own words: %q", got)
	}
}

func TestCanonical(t *testing.T) {
	c := crd(apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: parse(t, `{"type":"object","default":{"b":1.0,"a":9223372036854775807},"maximum":1e21,"description":"<&>"}`),
	}})
	c.UID, c.ResourceVersion, c.Generation, c.Labels = "u", "5", 3, map[string]string{"a": "b"}
	c.CreationTimestamp, c.Status.StoredVersions = metav1.Now(), []string{"v1"}
	got, err := Canonical(c)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"labels":{"a":"b"},"name":"crontabs.example.com"},` +
		`"spec":{"group":"example.com","names":{"kind":"CronTab","plural":""},"scope":"","versions":[{"name":"v1","schema":{"openAPIV3Schema":` +
		`{"default":{"a":9223372036854775807,"b":1},"description":"\u003c\u0026\u003e","maximum":1e+21,"type":"object"}},"served":false,"storage":false}]}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c.UID != "u" || len(c.Status.StoredVersions) != 1 {
		t.Error("the CRD was changed")
	}
	c.Spec.Versions[0].Schema.OpenAPIV3Schema.Default.Raw = []byte("{")
	if _, err := Canonical(c); err == nil || !strings.Contains(err.Error(), "crontabs.example.com") {
		t.Errorf("broken JSON: %v", err)
	}
}

func TestRevision(t *testing.T) {
	seen := map[string]bool{}
	for _, parts := range [][]string{nil, {""}, {"a", "b"}, {"ab"}, {"a", "", "b"}} {
		r := Revision([]byte("{}"), parts...)
		if seen[r] || len(r) != len("sha256:")+64 || r != Revision([]byte("{}"), parts...) {
			t.Errorf("%q: %s", parts, r)
		}
		seen[r] = true
	}
}
