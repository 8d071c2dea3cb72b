package bench

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestToJSONSchema tests each difference between a structural schema and its JSON schema.
func TestToJSONSchema(t *testing.T) {
	for _, c := range []struct{ about, schema, want string }{
		{"an object with properties is closed, at each depth",
			`{"type":"object","properties":{"b":{"type":"object"},
				"a":{"type":"array","items":{"type":"object","properties":{}}}}}`,
			`{"type":"object","additionalProperties":false,"properties":{"b":{"type":"object"},
				"a":{"type":"array","items":{"type":"object","properties":{},"additionalProperties":false}}}}`},
		{"a map stays open",
			`{"type":"object","additionalProperties":{"type":"object","properties":{}}}`,
			`{"type":"object","additionalProperties":{"type":"object","properties":{},"additionalProperties":false}}`},
		{"unknown fields are preserved",
			`{"type":"object","properties":{},"x-kubernetes-preserve-unknown-fields":true}`,
			`{"type":"object","properties":{},"x-kubernetes-preserve-unknown-fields":true}`},
		{"logical operators do not close objects",
			`{"type":"object","anyOf":[{"properties":{"a":{}}}]}`, `{"type":"object","anyOf":[{"properties":{"a":{}}}]}`},
		{"int-or-string",
			`{"x-kubernetes-int-or-string":true}`, `{"x-kubernetes-int-or-string":true,"type":["integer","string"]}`},
		{"nullable", `{"type":"string","nullable":true,"enum":["a"]}`, `{"type":["string","null"],"enum":["a",null]}`},
		{"nullable int-or-string", `{"x-kubernetes-int-or-string":true,"nullable":true}`,
			`{"x-kubernetes-int-or-string":true,"type":["null","integer","string"]}`},
		{"an embedded resource",
			`{"type":"object","x-kubernetes-embedded-resource":true,"required":["kind"],
				"properties":{"metadata":{"type":"object","properties":{"name":{"type":"string"}}}}}`,
			`{"type":"object","x-kubernetes-embedded-resource":true,"required":["kind","apiVersion","metadata"],
				"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object"}},
				"additionalProperties":false}`},
		{"a bound that is not exclusive",
			`{"type":"integer","minimum":1,"exclusiveMinimum":false}`, `{"type":"integer","minimum":1}`},
	} {
		var got, want map[string]any
		if err := json.Unmarshal([]byte(c.schema), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := toJSONSchema(got); err != nil {
			t.Errorf("%s: %v", c.about, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %v\nwant %v", c.about, got, want)
		}
	}
	err := toJSONSchema(map[string]any{"items": map[string]any{"minimum": 1, "exclusiveMinimum": true}})
	if err == nil || !strings.Contains(err.Error(), "items: exclusiveMinimum") {
		t.Errorf("an exclusive bound: %v", err)
	}
}
