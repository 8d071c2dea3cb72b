package definition

import (
	"testing"

	"github.com/crdeval/crdeval/engine/value"
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
		d := value.Acquire()
		root, err := d.ParseJSON([]byte(tt.doc), value.Limits{})
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
