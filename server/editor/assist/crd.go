package assist

import (
	_ "embed"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

//go:embed crd.yaml
var crdYAML string

// crdSchemas returns the schema of a CRD, and that of a JSON schema in it.
var crdSchemas = sync.OnceValues(func() (crd, schema *apiextensionsv1.JSONSchemaProps) {
	first, second, _ := strings.Cut(crdYAML, "\n---\n")
	crd, schema = &apiextensionsv1.JSONSchemaProps{}, &apiextensionsv1.JSONSchemaProps{}
	if yaml.UnmarshalStrict([]byte(first), crd) != nil || yaml.UnmarshalStrict([]byte(second), schema) != nil {
		panic("crd.yaml is invalid") // the tests read it
	}
	return crd, schema
})

// schemaOfCRD returns the schema of CRDs.
func schemaOfCRD() *Schema {
	crd, _ := crdSchemas()
	return &Schema{props: crd, root: true}
}

// resolve returns a schema, or the one that its reference stands for. Only crd.yaml has references.
func resolve(p *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if p.Ref == nil {
		return p
	}
	_, s := crdSchemas()
	resolved := *s
	resolved.Description = p.Description
	return &resolved
}

func isCRD(apiVersion, kind string) bool {
	return apiVersion == apiextensionsv1.GroupName+"/v1" && kind == workspace.CRDKind
}

// crdKind is the kind of CRDs for completion.
var crdKind = &workspace.CRD{
	Group: apiextensionsv1.GroupName, ObjectKind: workspace.CRDKind,
	Versions: []engine.VersionInfo{{Name: "v1", Served: true}},
}
