package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// registration is one case of testdata/register.yaml: a full manifest, or changes to the manifest of a CronTab.
type registration struct {
	Name     string         `json:"name"`
	V        any            `json:"v"`        // schema of the property v
	Schema   any            `json:"schema"`   // full schema
	Version  map[string]any `json:"version"`  // merged into the version
	Spec     map[string]any `json:"spec"`     // merged into spec
	Metadata map[string]any `json:"metadata"` // merged into metadata
	Status   any            `json:"status"`
	Manifest any            `json:"manifest"` // full manifest
	Text     string         `json:"text"`     // full manifest as text
}

// answer is upstream's result for a case.
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
	got.Warnings = textsOf(r.Warnings)
	return got
}

func textsOf(warnings []Warning) (texts []string) {
	for _, w := range warnings {
		texts = append(texts, w.Text)
	}
	return texts
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
			// Unlike the API server, upstream's decoder does not report the version.
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

// TestCanonicalIsStable decodes the canonical form of each accepted case again and checks that nothing changes.
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
		o := Options{}
		if again.CRD.Spec.PreserveUnknownFields { // allowed in updates only
			if o.Stored, err = storedAs(first); err != nil {
				t.Fatal(err)
			}
		}
		if r := Validate(t.Context(), again, o); len(r.Errors) > 0 {
			t.Errorf("%s: the canonical form is refused: %v", cases[i].Name, r.Errors)
		}
	}
	if accepted < 10 {
		t.Fatalf("only %d cases are accepted", accepted)
	}
}

// storedAs returns the stored, not yet established CRD with that canonical form.
func storedAs(canonical []byte) (*Stored, error) {
	m, err := Decode(canonical)
	if err != nil {
		return nil, err
	}
	return m.asStored(), nil
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
	if got := Validate(t.Context(), m, Options{KubernetesMinor: 33}).Warnings; len(got) != 1 || got[0].Text != `unrecognized format "k8s-short-name"` {
		t.Errorf("1.33: %q", got)
	}
	if got := Validate(t.Context(), m, Options{KubernetesMinor: 34}).Warnings; len(got) != 0 {
		t.Errorf("1.34: %q", got)
	}
}

// slow decodes a v1 manifest without the fast path. It returns nil if decoding fails.
func slow(doc []byte) (*apiextensionsv1.CustomResourceDefinition, []string) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	strict, err := decodeStrict(doc, crd, "v1")
	if err != nil {
		return nil, nil
	}
	return crd, strict
}

// checkWays compares the fast decoder and encoder with upstream's decoder and encoding/json. It reports whether the
// fast decoder accepted the manifest.
func checkWays(t *testing.T, doc []byte) bool {
	t.Helper()
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON(doc, tree.Limits{})
	if err != nil {
		return false
	}
	want, wantStrict := slow(doc)
	got := decodeFast(d, root)
	if got != nil && (!reflect.DeepEqual(got, want) || len(wantStrict) > 0) {
		t.Errorf("%s decoded fast differs\n got %+v\nwant %+v %q", doc, got, want, wantStrict)
	}
	if want != nil {
		fast, err := schema.Canonical(want)
		if general := canonical(t, want); err != nil || !bytes.Equal(fast, general) {
			t.Errorf("%s in canonical form\n got %s %v\nwant %s", doc, fast, err, general)
		}
	}
	return got != nil
}

// canonical computes the canonical form with Go maps.
func canonical(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) []byte {
	t.Helper()
	clean := crd.DeepCopy()
	clean.APIVersion, clean.Kind = apiVersionV1, kind
	clean.ManagedFields = nil
	text, err := json.Marshal(clean)
	if err != nil {
		t.Fatal(err)
	}
	tree := map[string]any{}
	if err := utiljson.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	delete(tree, "status")
	for _, name := range []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "namespace", "resourceVersion", "selfLink", "uid"} {
		delete(tree["metadata"].(map[string]any), name)
	}
	text, err = json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFastAgreesWithSlow(t *testing.T) {
	fast := 0
	cases := load[registration](t, "testdata/register.yaml")
	for i := range cases {
		if cases[i].Manifest == nil && checkWays(t, cases[i].doc(t)) {
			fast++
		}
	}
	if fast < len(cases)/2 {
		t.Errorf("only %d of %d cases were decoded fast", fast, len(cases))
	}
}

func TestDeepSchemas(t *testing.T) {
	for _, c := range []struct {
		keyword, inside string
		limit           bool
	}{
		{`{"type":"array","items":`, `{"type":"string"}`, false},
		{`{"type":"object","additionalProperties":`, `{"type":"string"}`, false},
		{`{"type":"object","additionalProperties":`, `{"type":"string","unknown":1}`, true},
	} {
		const depth = 4000
		text := strings.Repeat(c.keyword, depth) + c.inside + strings.Repeat("}", depth)
		r := registration{V: raw(text)}
		m, err := Decode(r.doc(t))
		var limit *tree.LimitError
		if c.limit != errors.As(err, &limit) {
			t.Errorf("%s: got %v", c.keyword, err)
		}
		if err != nil {
			continue
		}
		if errs := Validate(t.Context(), m, Options{}).Errors; len(errs) > 0 {
			t.Errorf("%s: %v", c.keyword, errs)
		}
		if _, err := schema.Canonical(m.CRD); err != nil {
			t.Error(err)
		}
	}
}

func raw(text string) any { return json.RawMessage(text) }

// TestStoredForm checks how validation changes an accepted CRD.
func TestStoredForm(t *testing.T) {
	r := registration{Schema: raw(`{"type":"object","properties":{
		"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,
			"default":{"kind":"A","apiVersion":"v1","metadata":{"name":"x","unknown":1}}},
		"n":{"type":"number","default":1.0,"enum":[1.0, 2.50, 9223372036854775808, 1]}}}`)}
	m, err := Decode(r.doc(t))
	if err != nil {
		t.Fatal(err)
	}
	if errs := Validate(t.Context(), m, Options{}).Errors; len(errs) > 0 {
		t.Fatal(errs)
	}
	got := m.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	if text := string(got["e"].Default.Raw); text != `{"kind":"A","apiVersion":"v1","metadata":{"name":"x"}}` {
		t.Error(text)
	}
	text := string(got["n"].Default.Raw)
	for _, e := range got["n"].Enum {
		text += " " + string(e.Raw)
	}
	if text != "1 1 2.5 9223372036854775808 1" && text != "1 1 2.5 9223372036854776000 1" {
		t.Error(text)
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
		checkWays(t, doc)
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

// TestCABundle: a bundle is a string in base64, or an array of bytes as encoding/json reads it.
func TestCABundle(t *testing.T) {
	for text, want := range map[string]string{`"Y2E="`: "ca", `[99,97]`: "ca", `["x"]`: "error", `"?"`: "error", `[]`: ""} {
		m, err := Decode([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.b"},
			"spec":{"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"caBundle":` + text + `}}}}}`))
		got := "error"
		if err == nil {
			got = string(m.CRD.Spec.Conversion.Webhook.ClientConfig.CABundle)
		}
		if got != want {
			t.Errorf("%s: %q, want %q: %v", text, got, want, err)
		}
	}
}
