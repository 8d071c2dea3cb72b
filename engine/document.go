package engine

import (
	"strings"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/value"
)

// Document is one JSON value, usually a Kubernetes object. JSON or YAML must be set; a Document with neither is absent.
// The engine does not write to the bytes and does not retain them after a call.
type Document struct {
	// JSON is JSON text in UTF-8. Integers within int64 keep every digit.
	JSON []byte
	// YAML is one YAML document. It is read as sigs.k8s.io/yaml reads manifests: YAML 1.1 scalars, and 1.0 is the
	// integer 1. Results are JSON; positions refer to the YAML text.
	YAML []byte
	// Origin is the place of the document in a file, or in another text with documents. All positions of results and
	// errors are then positions in that text, and hints quote it. It decides how YAML is read:
	//   - Without an Origin, YAML is the body of a request. It is decoded strictly, as an API server does: a key that
	//     overrides a merged key (<<) is a duplicate key, and text after the document is an error.
	//   - With an Origin, YAML is a manifest. It is converted to JSON, as clients do before they send it: a key may
	//     override a merged key, and text after the document is ignored. Duplicate keys are reported as those of JSON.
	Origin *Origin
}

// Origin is the place of a Document in a text. Package workspace makes the documents of a text with their origins.
type Origin = value.Origin

// JSON returns a Document of JSON text.
func JSON(text []byte) Document { return Document{JSON: text} }

// YAML returns a Document of YAML text that is the body of a request.
func YAML(text []byte) Document { return Document{YAML: text} }

// Absent reports whether the Document has no content.
func (d Document) Absent() bool { return d.JSON == nil && d.YAML == nil }

// parse parses a document into doc. Errors call the document what.
func (d Document) parse(doc *value.Doc, what string, l Limits) (root uint32, err error) {
	root, err = compiled.Document(d).Parse(doc, what, l)
	return root, publicError(err)
}

// TypeMetaOf returns the apiVersion and kind at the root of a document, "" where they are absent or not strings. Most
// JSON documents are not parsed for it. The error is an *Error for a document that cannot be read.
func TypeMetaOf(doc Document, l Limits) (apiVersion, kind string, err error) {
	defer host.Recover(&err)
	if doc.JSON != nil && doc.YAML == nil {
		if apiVersion, kind, ok := value.PeekTypeMeta(doc.JSON); ok {
			return strings.Clone(apiVersion), strings.Clone(kind), nil
		}
	}
	d := value.Acquire()
	root, err := doc.parse(d, "document", l)
	if err == nil {
		apiVersion = strings.Clone(compiled.StringField(d, root, "apiVersion"))
		kind = strings.Clone(compiled.StringField(d, root, "kind"))
	}
	d.Release()
	return apiVersion, kind, err
}

// Identity has the names in a document, "" where they are absent or not strings.
type Identity struct {
	APIVersion, Kind string

	Name, GenerateName, Namespace string // of the metadata

	Conversion bool   // the document has conversion rules, see IsConversion
	CRD        string // of conversion rules
}

// IdentityOf returns the names in a document. The error is an *Error for a document that cannot be read.
func IdentityOf(doc Document, l Limits) (id Identity, err error) {
	defer host.Recover(&err)
	d := value.Acquire()
	root, err := doc.parse(d, "document", l)
	if err == nil {
		id = identityOf(d, root)
	}
	d.Release()
	return id, err
}

func identityOf(d *value.Doc, root uint32) (id Identity) {
	text := func(object uint32, name string) string { return strings.Clone(compiled.StringField(d, object, name)) }
	id.APIVersion, id.Kind = text(root, "apiVersion"), text(root, "kind")
	if metadata := d.Field(root, "metadata"); metadata != 0 {
		id.Name, id.GenerateName, id.Namespace = text(metadata, "name"), text(metadata, "generateName"), text(metadata, "namespace")
	}
	if id.Conversion = lens.IsFile(d, root); id.Conversion {
		id.CRD = text(root, "crd")
	}
	return id
}
