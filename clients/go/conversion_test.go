package crdeval_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestSetConversion sets, uses, rejects and removes conversion rules.
func TestSetConversion(t *testing.T) {
	c, _ := dial(t, serve(t))
	const name = "crontabs.stable.example.com"
	versions := strings.Split(string(manifest(1)), "  versions:\n")[0] + `  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://example.com/'}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {count: {type: integer}}}}}}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}}}}
`
	rules := func(from string) []byte {
		return []byte("crd: " + name + "\nbetween: [v1beta1, v1]\nrules:\n- move: {from: " + from + ", to: spec.count}\n")
	}
	set := func(rules []byte, o crdeval.ConversionOptions) (*crdevalv1.SetConversionResponse, error) {
		return c.SetConversion(t.Context(), name, rules, o)
	}
	var defaults crdeval.ConversionOptions
	if _, err := set(rules("spec.replicas"), defaults); status.Code(err) != codes.NotFound {
		t.Errorf("before the CRD: %v", err)
	}
	registerAll(t, c, []byte(versions))
	_, err := set(rules("spec.none"), defaults)
	var rejected *crdeval.RejectedConversionError
	if !errors.As(err, &rejected) || len(rejected.Report.GetViolations()) == 0 || !strings.Contains(err.Error(), "\n  line 4: rules[0]") {
		t.Errorf("wrong rules: %v", err)
	}
	const updated, unchanged = crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_UPDATED, crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_UNCHANGED
	for i := range 2 { // the first one stores nothing
		checked, err := set(rules("spec.replicas"), crdeval.ConversionOptions{ValidateOnly: true})
		if err != nil || checked.GetOutcome() != updated || checked.GetToken() != "" {
			t.Fatalf("%d: %v, %v", i, checked, err)
		}
	}
	if _, err := set(rules("spec.replicas"), crdeval.ConversionOptions{Etag: "other"}); status.Code(err) != codes.Aborted {
		t.Errorf("another etag: %v", err)
	}
	first, err := set(rules("spec.replicas"), defaults)
	if err != nil || first.GetOutcome() != updated {
		t.Fatalf("%v, %v", first, err)
	}
	again, err := set(rules("spec.replicas"), crdeval.ConversionOptions{Etag: first.GetCrd().GetEtag()})
	if err != nil || again.GetOutcome() != unchanged {
		t.Fatalf("%v, %v", again, err)
	}
	got, err := c.Convert(t.Context(), "v1", []byte(`{"apiVersion":"stable.example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","namespace":"b"},"spec":{"replicas":3}}`))
	if err != nil || got[0].Err != nil || !strings.Contains(string(got[0].GetObject().GetJson()), `"spec":{"count":3}`) {
		t.Errorf("%v, %v", got, err)
	}
	checked, err := set([]byte("null"), crdeval.ConversionOptions{ValidateOnly: true})
	if err != nil || checked.GetOutcome() != updated {
		t.Errorf("%v, %v", checked, err)
	}
	if err := c.RemoveConversion(t.Context(), name); err != nil {
		t.Error(err)
	}
	if crd, err := c.Registry().GetCrd(t.Context(), &crdevalv1.GetCrdRequest{Catalog: "default", Crd: name}); err != nil || crd.GetCrd().GetConversion() != nil {
		t.Errorf("%v, %v", crd, err)
	}
}
