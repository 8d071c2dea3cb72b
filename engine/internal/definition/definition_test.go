package definition

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// registration is one case of testdata/register.yaml: a whole manifest, or parts of one whose other parts are those of a CronTab.
type registration struct {
	Name     string         `json:"name"`
	V        any            `json:"v"`        // the schema of the property v
	Schema   any            `json:"schema"`   // the whole schema
	Version  map[string]any `json:"version"`  // merged into the one version
	Spec     map[string]any `json:"spec"`     // merged into spec
	Metadata map[string]any `json:"metadata"` // merged into metadata
	Status   any            `json:"status"`
	Manifest any            `json:"manifest"` // instead of all these
	Text     string         `json:"text"`     // the same, as it stands
}

// answer is what the reference says to a case.
type answer struct {
	Name     string   `json:"name"`
	Refused  string   `json:"refused"` // the decoder's error
	Strict   []string `json:"strict"`
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
}

func (r *registration) doc(t testing.TB) []byte {
	t.Helper()
	if r.Text != "" {
		return []byte(r.Text)
	}
	manifest := r.Manifest
	if manifest == nil {
		if r.V == nil {
			r.V = map[string]any{"type": "string"}
		}
		if r.Schema == nil {
			r.Schema = map[string]any{"type": "object", "properties": map[string]any{"v": r.V}}
		}
		version := map[string]any{
			"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": r.Schema},
		}
		spec := map[string]any{
			"group": "stable.example.com", "scope": "Namespaced",
			"names":    map[string]any{"plural": "crontabs", "kind": "CronTab"},
			"versions": []any{merge(version, r.Version)},
		}
		crd := map[string]any{
			"apiVersion": apiVersionV1, "kind": kind,
			"metadata": merge(map[string]any{"name": "crontabs.stable.example.com"}, r.Metadata), "spec": merge(spec, r.Spec),
		}
		if r.Status != nil {
			crd["status"] = r.Status
		}
		manifest = crd
	}
	doc, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func merge(into, from map[string]any) map[string]any {
	for k, v := range from {
		into[k] = v
	}
	return into
}

func load[T any](t testing.TB, file string) (list []T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func judge(t testing.TB, name string, doc []byte) (got answer) {
	t.Helper()
	got.Name = name
	m, err := Decode(doc)
	if err != nil {
		var bad *DecodeError
		if !errors.As(err, &bad) || bad.Reason == 0 {
			t.Fatalf("not a DecodeError with a reason: %v", err)
		}
		got.Refused = err.Error()
		return got
	}
	got.Strict = m.Strict
	r := Validate(t.Context(), m, Options{})
	for _, e := range r.Errors {
		got.Errors = append(got.Errors, e.Error())
	}
	got.Warnings = r.Warnings
	return got
}

func TestRegistrations(t *testing.T) {
	cases := load[registration](t, "testdata/register.yaml")
	answers := load[answer](t, "testdata/register.golden.yaml")
	if len(cases) != len(answers) || len(cases) == 0 {
		t.Fatalf("%d cases, %d answers", len(cases), len(answers))
	}
	for i := range cases {
		want := answers[i]
		t.Run(cases[i].Name, func(t *testing.T) {
			if want.Name != cases[i].Name {
				t.Fatalf("the answer is that of %q", want.Name)
			}
			doc := cases[i].doc(t)
			got := judge(t, want.Name, doc)
			again := judge(t, want.Name, doc)
			if !slices.Equal(got.Errors, again.Errors) || !slices.Equal(got.Warnings, again.Warnings) {
				t.Error("the order differs between two runs")
			}
			// The reference's decoder does not say which version could not be handled; its API server does.
			if want.Refused != "" && got.Refused != want.Refused && got.Refused != `CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: `+want.Refused {
				t.Errorf("refused\n got %q\nwant %q", got.Refused, want.Refused)
			}
			if (want.Refused == "") != (got.Refused == "") {
				t.Errorf("refused: got %q, want %q", got.Refused, want.Refused)
			}
			same(t, "strict", got.Strict, want.Strict)
			same(t, "errors", got.Errors, want.Errors)
			same(t, "warnings", got.Warnings, want.Warnings)
		})
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s\n got %q\nwant %q", what, got, want)
	}
}

// TestCanonicalIsStable decodes the canonical form of every accepted case again: nothing may change any more.
func TestCanonicalIsStable(t *testing.T) {
	cases := load[registration](t, "testdata/register.yaml")
	accepted := 0
	for i := range cases {
		m, err := Decode(cases[i].doc(t))
		if err != nil || len(Validate(t.Context(), m, Options{}).Errors) > 0 {
			continue
		}
		accepted++
		first, err := schema.Canonical(m.CRD)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(first)
		if err != nil {
			t.Fatalf("%s: %v", cases[i].Name, err)
		}
		second, err := schema.Canonical(again.CRD)
		if err != nil {
			t.Fatal(err)
		}
		if string(first) != string(second) || len(again.Strict) > 0 {
			t.Errorf("%s: %s became %s, %q", cases[i].Name, first, second, again.Strict)
		}
		if r := Validate(t.Context(), again, Options{}); len(r.Errors) > 0 {
			t.Errorf("%s: the canonical form is refused: %v", cases[i].Name, r.Errors)
		}
	}
	if accepted < 10 {
		t.Fatalf("only %d cases are accepted", accepted)
	}
}

func TestNotACRD(t *testing.T) {
	for _, c := range []struct {
		doc    string
		reason Reason
		text   string
	}{
		{`{}`, NotCRD, `apiVersion and kind are missing: a CRD has apiVersion "apiextensions.k8s.io/v1" and kind "CustomResourceDefinition"`},
		{`null`, NotCRD, `apiVersion and kind are missing: a CRD has apiVersion "apiextensions.k8s.io/v1" and kind "CustomResourceDefinition"`},
		{`{"apiVersion":"v1","kind":"Pod"}`, NotCRD, `apiVersion "v1", kind "Pod" is not a CRD: it must be apiVersion "apiextensions.k8s.io/v1" (or "apiextensions.k8s.io/v1beta1") and kind "CustomResourceDefinition"`},
		{`{"apiVersion":"apiextensions.k8s.io/v2","kind":"CustomResourceDefinition"}`, NotCRD, `apiVersion "apiextensions.k8s.io/v2", kind "CustomResourceDefinition" is not a CRD: it must be apiVersion "apiextensions.k8s.io/v1" (or "apiextensions.k8s.io/v1beta1") and kind "CustomResourceDefinition"`},
		{``, Unreadable, `couldn't get version/kind; json parse error: unexpected end of JSON input`},
		{`[]`, Unreadable, `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`},
	} {
		_, err := Decode([]byte(c.doc))
		var bad *DecodeError
		if !errors.As(err, &bad) || bad.Reason != c.reason || bad.Error() != c.text {
			t.Errorf("%s: got %v", c.doc, err)
		}
	}
}

func TestKubernetesMinor(t *testing.T) {
	r := registration{V: map[string]any{"type": "string", "format": "k8s-short-name"}}
	m, err := Decode(r.doc(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := Validate(t.Context(), m, Options{KubernetesMinor: 33}).Warnings; !slices.Equal(got, []string{`unrecognized format "k8s-short-name"`}) {
		t.Errorf("1.33: %q", got)
	}
	if got := Validate(t.Context(), m, Options{KubernetesMinor: 34}).Warnings; len(got) != 0 {
		t.Errorf("1.34: %q", got)
	}
}

func FuzzDecodeAndValidate(f *testing.F) {
	for _, r := range load[registration](f, "testdata/register.yaml") {
		f.Add(r.doc(f))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if len(doc) > 64<<10 {
			return
		}
		m, err := Decode(doc)
		if err != nil {
			return
		}
		errs := Validate(t.Context(), m, Options{}).Errors
		for _, e := range errs {
			_ = e.Error()
		}
		if _, err := schema.Canonical(m.CRD); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	})
}
