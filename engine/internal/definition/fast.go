package definition

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
)

// decodeFast decodes a v1 manifest with schema.Read for its schemas and the API server's decoder for the rest. The CRD
// and the strict errors equal those of the slow path. It returns nil if it cannot decode the manifest.
func decodeFast(doc []byte, d *value.Doc, root uint32, apiVersion string) (*apiextensionsv1.CustomResourceDefinition, []string) {
	if root == 0 || apiVersion != apiVersionV1 || d.HasDuplicates(value.Request) {
		return nil, nil
	}
	nodes, ok := schemaNodes(d, root)
	if !ok {
		return nil, nil
	}
	schemas := make([]*schema.Props, len(nodes))
	frame := make([]byte, 0, len(doc)/4)
	rest := uint32(0)
	for i, node := range nodes {
		if node == 0 {
			continue
		}
		if schemas[i], ok = schema.Read(d, node); !ok {
			return nil, nil
		}
		n := &d.Nodes[node]
		frame = append(append(frame, doc[rest:n.Off]...), "{}"...)
		rest = n.End
	}
	frame = append(frame, doc[rest:]...)

	crd := &apiextensionsv1.CustomResourceDefinition{}
	found, err := json.UnmarshalStrict(frame, crd)
	if err != nil || len(crd.Spec.Versions) != len(nodes) {
		return nil, nil
	}
	for i, s := range schemas {
		if s == nil {
			continue
		}
		if schema.Of(&crd.Spec.Versions[i]) == nil {
			return nil, nil
		}
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema = s
	}
	var strict []string
	for _, e := range found {
		strict = append(strict, e.Error())
	}
	return crd, strict
}

// schemaNodes returns the schema node of each version, or 0 for a version without one. ok is false if a parent has the
// wrong type.
func schemaNodes(d *value.Doc, root uint32) (nodes []uint32, ok bool) {
	versions := root
	for _, name := range []string{"spec", "versions"} {
		if d.Nodes[versions].Kind != value.Object {
			return nil, false
		}
		if versions = d.Field(versions, name); versions == 0 {
			return nil, true
		}
	}
	if d.Nodes[versions].Kind != value.Array {
		return nil, false
	}
	for v := d.Nodes[versions].First; v != 0; v = d.Nodes[v].Next {
		node := v
		for _, name := range []string{"schema", "openAPIV3Schema"} {
			if d.Nodes[node].Kind != value.Object {
				return nil, false
			}
			if node = d.Field(node, name); node == 0 {
				break
			}
		}
		nodes = append(nodes, node)
	}
	return nodes, true
}

// mostRead bounds the bytes that the API server's decoder reads. It reads the value of each keyword in reread again for
// each enclosing one. Argo's CRDs, the largest of the corpus, stay below a fifth.
const mostRead = 64 << 20

// reread are the keywords whose type has its own UnmarshalJSON.
var reread = []string{"items", "additionalProperties", "additionalItems"}

// affordable returns a *value.LimitError if schemas nest so deep that the API server's decoder would take seconds.
func affordable(d *value.Doc, root uint32) error {
	if root == 0 {
		return nil // invalid JSON: decoding ends at the first wrong byte
	}
	read := int64(d.Nodes[root].End)
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Kind == value.Object && slices.Contains(reread, d.Key(uint32(i))) {
			read += int64(n.End - n.Off)
		}
	}
	if read <= mostRead {
		return nil
	}
	return &value.LimitError{
		Name: "max_schema_nesting", Limit: "nesting of schemas", Unit: "bytes to read again and again", Maximum: mostRead, Actual: read,
		Advice: "nest the items and additionalProperties of the schema less deep, or fix unknown fields and wrong types in it",
	}
}
