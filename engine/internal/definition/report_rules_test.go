package definition

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
)

// reported returns the report of a CRD with one version, whose spec has the given schema.
func reported(t *testing.T, spec string) *Report {
	t.Helper()
	return of(t, manifest("v1", `{"type":"object","properties":{"spec":`+spec+`}}`), true)
}

func TestRules(t *testing.T) {
	r := reported(t, `{"type":"object",
"properties":{"l":{"type":"array","items":{"type":"string","x-kubernetes-validations":[{"rule":"self != ''"}]}},"f":{"type":"string","format":"k8s-short-name"}},
"x-kubernetes-validations":[
	{"rule":"self.l.all(x, self.l.all(y, x == y))"},
	{"rule":"quantity(self.f) != quantity('1') && oldSelf == self","messageExpression":"'a'.format([])","reason":"FieldValueForbidden"},
	{"rule":"self.nope"},
	{"rule":"self.l.includes('a')"}]}`)
	v := &r.Versions[0]
	var pointers []string
	for _, r := range v.Rules {
		pointers = append(pointers, r.SchemaPointer)
	}
	const spec = "/properties/spec/x-kubernetes-validations/"
	if got, want := strings.Join(pointers, " "), "/properties/spec/properties/l/items/x-kubernetes-validations/0 "+spec+"0 "+spec+"1 "+spec+"2 "+spec+"3"; got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
	element, nested, quantity, nope, includes := &v.Rules[0], &v.Rules[1], &v.Rules[2], &v.Rules[3], &v.Rules[4]
	if element.EstimatedCost == 0 || element.Cardinality != 3<<20/3 || element.LowestKubernetes != "1.25" || element.UsesOldSelf {
		t.Errorf("%+v", element)
	}
	if nested.EstimatedCost <= celcheck.EstimateLimit || len(nested.Culprits) != 2 || nested.Culprits[0].Suggested == 0 || nested.Cardinality != 1 {
		t.Errorf("%+v", nested)
	}
	if quantity.LowestKubernetes != "1.29" || quantity.LowestKubernetesReason != "the function format came with Kubernetes 1.29" || !quantity.UsesOldSelf || quantity.MessageEstimatedCost == 0 {
		t.Errorf("%+v", quantity)
	}
	if nope.LowestKubernetes != "" || nope.EstimatedCost != 0 || nope.Cardinality != 0 {
		t.Errorf("%+v", nope)
	}
	if includes.LowestKubernetes != "1.37" || includes.EstimatedCost != 0 {
		t.Errorf("%+v", includes)
	}
	if v.LowestKubernetes != "1.37" || v.LowestKubernetesReason != includes.SchemaPointer+": the function includes came with Kubernetes 1.37" || r.LowestKubernetesReason != v.LowestKubernetesReason {
		t.Errorf("%s: %s", v.LowestKubernetes, v.LowestKubernetesReason)
	}
}

func TestPositionsOfRules(t *testing.T) {
	text := manifest("v1", `{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[{"rule":"true"},{"rule":
"self.nope"}]}}}`)
	r := of(t, text, true)
	if len(r.Violations) != 1 {
		t.Fatalf("%+v", r.Violations)
	}
	f := r.Violations[0]
	if f.Schema != "/properties/spec/x-kubernetes-validations/1/rule" || text[f.Position.Offset:][:len(`"self.nope"`)] != `"self.nope"` || f.Position.Line != 3 {
		t.Errorf("%s %+v", f.Schema, f.Position)
	}
}

func TestLowestMinorOfFormats(t *testing.T) {
	tests := []struct {
		schema, because string
		minor           int
	}{
		{`{"type":"string","format":"ipv4"}`, "", 25},
		{`{"type":"string","format":"nobody-knows"}`, "", 25},
		{`{"type":"array","items":{"type":"string","format":"k8s-long-name"}}`, "/properties/spec/items: the format k8s-long-name came with Kubernetes 1.34", 34},
		{`{"type":"string","anyOf":[{"maxLength":1},{"format":"k8s-short-name"}]}`, "/properties/spec/anyOf/1: the format k8s-short-name came with Kubernetes 1.34", 34},
	}
	for _, tt := range tests {
		r := reported(t, tt.schema)
		if r.LowestKubernetes != format.Version(tt.minor) || r.LowestKubernetesReason != tt.because {
			t.Errorf("%s: %s %q, want 1.%d %q", tt.schema, r.LowestKubernetes, r.LowestKubernetesReason, tt.minor, tt.because)
		}
	}
}
