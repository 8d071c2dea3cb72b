package engine

import (
	"encoding/json"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/casefile"
)

// openAPICase holds the definition of the kind, as documents of both forms have it, against the reference's.
func openAPICase(t *testing.T, d *Definition, want *casefile.Answer) {
	t.Helper()
	const kind = "com.example.stable.v1.CronTab"
	v2, err := OpenAPIV2(t.Context(), OpenAPIOptions{}, d.CRD(Status{}))
	if err != nil {
		t.Fatal(err)
	}
	v3, err := OpenAPIV3(t.Context(), d.Group(), "v1", OpenAPIOptions{}, d.CRD(Status{}))
	if err != nil {
		t.Fatal(err)
	}
	var documents struct {
		Definitions map[string]json.RawMessage
		Components  struct{ Schemas map[string]json.RawMessage }
	}
	for _, text := range [][]byte{v2.JSON, v3.JSON} {
		if err := json.Unmarshal(text, &documents); err != nil {
			t.Fatal(err)
		}
	}
	var wanted struct{ V2, V3 json.RawMessage }
	if err := json.Unmarshal(want.Result, &wanted); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, documents.Definitions[kind], wanted.V2)
	sameJSON(t, documents.Components.Schemas[kind], wanted.V3)
}
