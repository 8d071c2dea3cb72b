package engine

import (
	"context"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const includesCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lists.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lists, kind: List1}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          l:
            type: array
            maxItems: 9
            items: {type: string}
            x-kubernetes-validations: [{rule: "self.includes('a')"}]
`

// TestExisting: a manifest whose name is registered is its update, for every way to hand one in.
func TestExisting(t *testing.T) {
	ctx := context.Background()
	first, report, err := Compile(ctx, YAML([]byte(includesCRD)), Options{Kubernetes: "1.37"})
	if err != nil || first == nil || report.Update || report.Generation != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	var asked []string
	o := Options{Existing: func(name string) *Existing {
		asked = append(asked, name)
		if name != first.Name() {
			return nil
		}
		return &Existing{Manifest: first.Manifest(), Generation: 7, Status: first.compiled.Desired.AddStoredVersion(apiextensionsv1.CustomResourceDefinitionStatus{})}
	}}

	second, report, err := Compile(ctx, YAML([]byte(strings.Replace(includesCRD, "maxItems: 9", "maxItems: 8", 1))), o)
	if err != nil || second == nil || !report.Update || report.Generation != 8 {
		t.Fatalf("%+v, %v", report, err)
	}
	if rules := report.Versions[0].Rules; len(rules) != 1 || rules[0].LowestKubernetes != "1.37" || rules[0].EstimatedCost == 0 {
		t.Errorf("%+v", rules)
	}
	if report, err = Check(ctx, JSON(first.Manifest()), o); err != nil || !report.Accepted || report.Generation != 7 {
		t.Errorf("%+v, %v", report, err)
	}
	other := strings.NewReplacer("name: lists.example.com", "name: others.example.com", "plural: lists", "plural: others").Replace(includesCRD)
	if report, err = Check(ctx, YAML([]byte(other)), o); err != nil || report.Accepted || report.Update {
		t.Errorf("a new CRD with a rule of 1.37: %+v, %v", report, err)
	}
	if got := strings.Join(asked, " "); got != "lists.example.com lists.example.com others.example.com" {
		t.Errorf("asked for %s", got)
	}

	broken := Options{Existing: func(string) *Existing { return &Existing{Manifest: []byte(`{}`)} }}
	if _, err := Check(ctx, YAML([]byte(includesCRD)), broken); ReasonOf(err) != ReasonInternal {
		t.Errorf("an invalid stored manifest: %v", err)
	}
}
