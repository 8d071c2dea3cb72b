package engine

// Document is one JSON value, mostly one Kubernetes object, as its bytes. Exactly one field is set; a Document with neither
// is absent. The engine never writes to the bytes and keeps no reference to them after a call returns.
type Document struct {
	// JSON is JSON text in UTF-8. Integers within int64 keep every digit.
	JSON []byte
	// YAML is one YAML document, read as sigs.k8s.io/yaml reads manifests (YAML 1.1 scalars, 1.0 is the integer 1).
	// Results are JSON all the same; positions refer to the YAML text.
	YAML []byte
}

// JSON returns a Document of JSON text.
func JSON(text []byte) Document { return Document{JSON: text} }

// YAML returns a Document of YAML text.
func YAML(text []byte) Document { return Document{YAML: text} }

// Absent reports whether the Document has no content at all.
func (d Document) Absent() bool { return d.JSON == nil && d.YAML == nil }
