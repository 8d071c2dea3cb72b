package tests

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conformance/suites/openapi"
	"github.com/crdeval/crdeval/engine/internal/casefile"
)

// publishedKind is the answer to an OpenAPI case: the definition of the kind in upstream's document.
func publishedKind(id string, crd *apiextensionsv1.CustomResourceDefinition) casefile.Answer {
	const kind = "com.example.stable.v1.CronTab"
	crds := []*apiextensionsv1.CustomResourceDefinition{crd}
	v2, err := openapi.UpstreamV2(crds)
	if err != nil {
		return casefile.Answer{ID: id, Error: err.Error()}
	}
	v3, err := openapi.UpstreamV3(crds, "v1")
	if err != nil {
		return casefile.Answer{ID: id, Error: err.Error()}
	}
	var documents struct {
		Definitions map[string]json.RawMessage
		Components  struct{ Schemas map[string]json.RawMessage }
	}
	for _, text := range [][]byte{v2, v3} {
		if err := json.Unmarshal(text, &documents); err != nil {
			return casefile.Answer{ID: id, Error: err.Error()}
		}
	}
	result, err := json.Marshal(map[string]json.RawMessage{"v2": documents.Definitions[kind], "v3": documents.Components.Schemas[kind]})
	if err != nil {
		return casefile.Answer{ID: id, Error: err.Error()}
	}
	return casefile.Answer{ID: id, Result: result}
}
