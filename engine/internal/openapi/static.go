package openapi

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// `make generate` writes static.json.

//go:embed static.json
var staticJSON []byte

// shared holds the definitions common to all custom resources. engine/conformance/suites/openapi/static extracts them
// from upstream's packages.
type shared struct {
	Definitions map[string]*definition     `json:"definitions"`
	TypeMeta    map[string]json.RawMessage `json:"typeMeta"`
	Queries     map[string][]query         `json:"queries"`
}

// definition is a definition in both forms. V2 has no defaults.
type definition struct {
	Dependencies []string        `json:"dependencies"`
	V2           json.RawMessage `json:"v2"`
	V3           json.RawMessage `json:"v3"`
}

func (d *definition) text(f Form) []byte {
	if f == V2Form {
		return d.V2
	}
	return d.V3
}

// query is a query parameter of an operation.
type query struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
}

// static parses static.json on first use.
var static = sync.OnceValue(func() *shared {
	s := &shared{}
	if err := json.Unmarshal(staticJSON, s); err != nil {
		panic("openapi: static.json: " + err.Error()) // embedded and tested
	}
	return s
})

// Names of the shared definitions.
const (
	metaPackage   = "io.k8s.apimachinery.pkg.apis.meta.v1."
	objectMeta    = metaPackage + "ObjectMeta"
	listMeta      = metaPackage + "ListMeta"
	status        = metaPackage + "Status"
	patch         = metaPackage + "Patch"
	deleteOptions = metaPackage + "DeleteOptions"
	scale         = "io.k8s.api.autoscaling.v1.Scale"
)
