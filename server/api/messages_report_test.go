package api_test

import (
	"context"
	"strings"
	"testing"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// dearManifest has a rule without a bound, one of a newer Kubernetes, and one that is cheap.
const dearManifest = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dears.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: dears, kind: Dear}
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
            x-kubernetes-validations: [{rule: "self.size >= oldSelf.size", reason: FieldValueForbidden}]
            properties:
              size: {type: integer, x-kubernetes-validations: [{rule: "isQuantity('1Gi') && self > 0"}]}
              names: {type: array, items: {type: string, MAXLENGTH}, MAXITEMS, x-kubernetes-validations: [{rule: "self.all(n, !n.contains('x'))"}]}
`

// TestRuleReports: the report of a CRD says of each rule what it may cost, what is to blame, and which Kubernetes it needs; a rejected CRD
// becomes acceptable by what it suggests.
func TestRuleReports(t *testing.T) {
	w := start(t, nil)
	check := func(manifest string) *crdevalv1.CheckCrdResponse {
		var r crdevalv1.CheckCrdResponse
		w.do("POST", "/v1/catalogs/default/crds:check", manifest, "Content-Type", "application/yaml").into(t, &r)
		over, err := w.registry.CheckCrd(context.Background(), &crdevalv1.CheckCrdRequest{Catalog: "default", Manifest: yamlDocument(manifest)})
		if err != nil || len(over.GetReport().GetVersions()) != 1 || over.GetReport().GetVersions()[0].String() != r.GetReport().GetVersions()[0].String() {
			t.Errorf("gRPC %v (%v)\nREST %v", over, err, &r)
		}
		return &r
	}
	unbounded := strings.NewReplacer("MAXLENGTH", "description: d", "MAXITEMS", "description: d")
	r := check(unbounded.Replace(dearManifest))
	v := r.GetReport().GetVersions()[0]
	if r.GetAccepted() || len(v.GetRules()) != 3 || v.GetCostLimit() != 100_000_000 || v.GetEstimatedCost() <= v.GetCostLimit() {
		t.Fatalf("%v", r)
	}
	if v.GetLowestKubernetes() != "1.28" || !strings.Contains(v.GetLowestKubernetesReason(), "isQuantity") || r.GetReport().GetLowestKubernetes() != "1.28" ||
		r.GetReport().GetLowestKubernetesReason() != v.GetLowestKubernetesReason() {
		t.Errorf("lowest Kubernetes %s because %q, of the CRD %s", v.GetLowestKubernetes(), v.GetLowestKubernetesReason(), r.GetReport().GetLowestKubernetes())
	}
	rules := map[string]*crdevalv1.RuleReport{}
	for _, rule := range v.GetRules() {
		rules[rule.GetSchemaPointer()] = rule
	}
	transition := rules["/properties/spec/x-kubernetes-validations/0"]
	if !transition.GetUsesOldSelf() || transition.GetRule().GetReason() != "FieldValueForbidden" || transition.GetCardinality() != 1 ||
		transition.GetEstimatedCost() == 0 || transition.GetEstimatedCost() > 100 || transition.GetCostLimit() != 10_000_000 || transition.GetShareOfLimit() > 0.1 {
		t.Errorf("%v", transition)
	}
	dear := rules["/properties/spec/properties/names/x-kubernetes-validations/0"]
	bounds := map[string]string{"maxItems": "", "maxLength": ""}
	for _, c := range dear.GetCulprits() {
		want := "/properties/spec/properties/names"
		if c.GetKeyword() == "maxLength" {
			want += "/items"
		}
		if c.GetSchemaPointer() != want || c.GetSuggested() <= 0 {
			t.Errorf("%v", c)
		}
		bounds[c.GetKeyword()] = c.GetKeyword() + ": " + strings.TrimSpace(strings.Split(c.String(), "suggested:")[1])
	}
	if dear.GetShareOfLimit() <= 1 || len(dear.GetCulprits()) != 2 {
		t.Fatalf("%v", dear)
	}
	r = check(strings.NewReplacer("MAXLENGTH", bounds["maxLength"], "MAXITEMS", bounds["maxItems"]).Replace(dearManifest))
	if !r.GetAccepted() {
		t.Errorf("with %v: %v", bounds, r)
	}
}
