package admission

import (
	"context"
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// stored is an object as a storage has it.
const stored = `"name":"g","namespace":"n","resourceVersion":"7","uid":"u","generation":4,"creationTimestamp":"2024-01-01T00:00:00Z"`

// sent is what a client sends to change it.
const sent = `"name":"g","namespace":"n","resourceVersion":"7"`

// TestFastPath checks that ordinary writes take the fast path. The cases of package writecase compare it with the exact
// path.
func TestFastPath(t *testing.T) {
	d, ruled := define(t, nil), defineRuled(t)
	old := []byte(gadget(stored, `,"spec":{"note":"old"},"status":{"selector":"old","replicas":1}`))
	for name, r := range map[string]Request{
		"creation":          {Body: []byte(gadget(plain, `,"spec":{"must":1}`))},
		"creation, default": {Body: []byte(gadget(plain, ``))},
		"update":            {Old: old, Body: []byte(gadget(sent+`,"labels":{"a":"b"}`, `,"spec":{"note":"x","tags":["a"]}`))},
		"update, handler":   {Old: old, Body: []byte(gadget(sent, `,"status":{"selector":"x"}`)), Handler: true, Name: "g", Namespace: "n"},
		"status":            {Old: old, Body: []byte(gadget(sent, `,"status":{"selector":"x"}`)), Status: true},
		"status, completed": {Old: old, Body: []byte(gadget(sent, `,"status":{"selector":"x"}`)), Status: true, CompleteMetadata: true},
	} {
		t.Run(name, func(t *testing.T) {
			of := []*Definition{d}
			if r.Old == nil {
				of = append(of, ruled)
			}
			for _, d := range of {
				got, err := d.Write(context.Background(), &r)
				if err != nil || got.Rejection != nil || got.Exact {
					t.Errorf("%v, %+v, exact path %v", err, got.Rejection, got.Exact)
				}
			}
		})
	}
}

// defineRuled compiles the gadgets with a rule for the root and two for the spec.
func defineRuled(t *testing.T) *Definition {
	t.Helper()
	var crd *apiextensionsv1.CustomResourceDefinition
	d := define(t, func(c *apiextensionsv1.CustomResourceDefinition) {
		crd = c
		s := c.Spec.Versions[0].Schema.OpenAPIV3Schema
		s.XValidations = apiextensionsv1.ValidationRules{{Rule: "self.metadata.name != 'bad'", Message: "bad name"}}
		spec := s.Properties["spec"]
		spec.XValidations = apiextensionsv1.ValidationRules{{Rule: "self.must < 9"}, {Rule: "self.must >= oldSelf.must"}}
		s.Properties["spec"] = spec
	})
	compiled, err := plan.Compile(schema.Of(&crd.Spec.Versions[0]), plan.Options{StatusSubresource: true, Rules: plan.RulesOfResource})
	if err != nil {
		t.Fatal(err)
	}
	d.Versions[0].Plan = compiled
	return d
}

// TestUpdateFaults has old objects that no API server could have found for the request.
func TestUpdateFaults(t *testing.T) {
	d := define(t, nil)
	byWebhook := define(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}}}
	})
	for _, tt := range []struct {
		name, old string
		d         *Definition
		r         Request
		want      Code
		text      string
	}{
		{name: "too large", old: `"` + strings.Repeat("x", 4<<20) + `"`, want: LimitExceeded, text: "old object: document size"},
		{name: "without a converter", d: byWebhook, old: `{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{` + stored + `}}`, want: ConversionUnavailable, text: "old object: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.d == nil {
				tt.d = d
			}
			if tt.r.Body == nil {
				tt.r.Body = []byte(gadget(sent, ``))
			}
			tt.r.Old = []byte(tt.old)
			_, err := tt.d.Write(context.Background(), &tt.r)
			var f *Fault
			if !errors.As(err, &f) || f.Code != tt.want || !strings.HasPrefix(f.Text, tt.text) {
				t.Errorf("%v, want %s: %s", err, tt.want, tt.text)
			}
		})
	}
}

// TestUpdateConverted checks that a webhook converts the old object to the version of the request.
func TestUpdateConverted(t *testing.T) {
	d := define(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}}}
	})
	d.Converter = func(context.Context, string, *apiextensionsv1.WebhookConversion, string, [][]byte) ([][]byte, error) {
		return [][]byte{[]byte(gadget(stored, `,"spec":{"must":"x","note":"b"}`))}, nil
	}
	r := Request{Body: []byte(gadget(sent, `,"spec":{"must":"x","note":"a"}`)), Old: []byte(`{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{` + stored + `}}`), WantObject: true}
	got, err := d.Write(context.Background(), &r)
	if err != nil || got.Rejection != nil || len(got.Ratcheted) != 1 {
		t.Errorf("%v, %+v, ratcheted %d", err, got.Rejection, len(got.Ratcheted))
	}
}
