package definition

import (
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/testenv"
)

func TestLocate(t *testing.T) {
	const v1 = `{"metadata":{"name":"x"},"spec":{"conversion":{"webhook":{"clientConfig":{"url":"u"}}},"versions":[{"name":"v1",
		"additionalPrinterColumns":[{"name":"a","jsonPath":"b"}],
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"a.b[c]":{"type":"string"},"d":{"anyOf":[{"type":"x"}]}}}}}]}}`
	const beta = `{"spec":{"validation":{"openAPIV3Schema":{"properties":{"a":{}}}}}}`
	tests := []struct{ doc, field, want, text string }{
		{v1, "metadata.name", "/metadata/name", `"x"`},
		{v1, "spec.validation.openAPIV3Schema.properties[a.b[c]].type", "/spec/versions/0/schema/openAPIV3Schema/properties/a.b[c]/type", `"string"`},
		{v1, "spec.versions[0].schema.openAPIV3Schema.properties[d].anyOf[0].type", "/spec/versions/0/schema/openAPIV3Schema/properties/d/anyOf/0/type", `"x"`},
		{v1, "spec.additionalPrinterColumns[0].JSONPath", "/spec/versions/0/additionalPrinterColumns/0/jsonPath", `"b"`},
		{v1, "spec.conversion.webhookClientConfig.url", "/spec/conversion/webhook/clientConfig/url", `"u"`},
		{v1, "spec.validation.openAPIV3Schema.properties[d].default", "/spec/versions/0/schema/openAPIV3Schema/properties/d/default", `{"anyOf":[{"type":"x"}]}`},
		{v1, "spec.versions[1].name", "/spec/versions/1/name", ""},
		{v1, "spec.names.plural", "/spec/names/plural", ""},
		{beta, "spec.validation.openAPIV3Schema.properties[a].type", "/spec/validation/openAPIV3Schema/properties/a/type", `{}`},
		{v1, "", "", ""},
	}
	for _, tt := range tests {
		d := tree.Acquire()
		root, err := d.ParseJSON([]byte(tt.doc), tree.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		p, _, node := newLocator(d, root).locate(tt.field)
		if p.Pointer() != tt.want {
			t.Errorf("%s: %s, want %s", tt.field, p.Pointer(), tt.want)
		}
		if tt.text != "" && string(d.Raw(node)) != tt.text {
			t.Errorf("%s: at %s, want %s", tt.field, d.Raw(node), tt.text)
		}
		d.Release()
	}
}

// The work for a path is bounded by the lengths of the keys on it, not by their square.
func TestLocateLongKey(t *testing.T) {
	dots := strings.Repeat(".", 300_000)
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON([]byte(`{"spec":{"properties":{"`+dots+`":{"type":"x"}}}}`), tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	start := testenv.CPUTime()
	p, _, node := newLocator(d, root).locate("spec.properties[" + dots + "].type")
	if string(d.Raw(node)) != `"x"` {
		t.Errorf("%d steps, at %.50s", len(p), d.Raw(node))
	}
	if took := testenv.CPUTime() - start; took > 10*time.Second { // a few milliseconds, a minute if it is quadratic
		t.Errorf("took %v of CPU time", took)
	}
}
