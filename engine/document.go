package engine

import (
	"strings"

	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/tree"
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
	Origin *document.Origin
}

// JSON returns a Document of JSON text.
func JSON(text []byte) Document { return Document{JSON: text} }

// YAML returns a Document of YAML text that is the body of a request.
func YAML(text []byte) Document { return Document{YAML: text} }

// Absent reports whether the Document has no content.
func (d Document) Absent() bool { return d.JSON == nil && d.YAML == nil }

// parse parses a document into doc. Errors call the document what.
func (d Document) parse(doc *tree.Doc, what string, l Limits) (root uint32, err error) {
	root, err = compiled.Document(d).Parse(doc, what, l)
	return root, publicError(err)
}

// TypeMetaHead returns the beginning of a JSON document up to its apiVersion and kind, and both, if they are its first
// two members and plain strings. Otherwise, it returns nil. Documents with the same head have the same type, unless one
// repeats a member, which no allowed object does. The results refer to the text.
func (d Document) TypeMetaHead() (head []byte, apiVersion, kind string) {
	if d.YAML != nil {
		return nil, "", ""
	}
	return tree.TypeMetaHead(d.JSON)
}

// TypeMeta returns the apiVersion and kind at the root of the document, "" where they are absent or not strings. Most
// JSON documents are not parsed for it. The error is an *Error for a document that cannot be read.
func (d Document) TypeMeta(l Limits) (apiVersion, kind string, err error) {
	defer host.Recover(&err)
	if d.JSON != nil && d.YAML == nil {
		if apiVersion, kind, ok := tree.PeekTypeMeta(d.JSON); ok {
			return strings.Clone(apiVersion), strings.Clone(kind), nil
		}
	}
	doc := tree.Acquire()
	root, err := d.parse(doc, "document", l)
	if err == nil {
		apiVersion = strings.Clone(compiled.StringField(doc, root, "apiVersion"))
		kind = strings.Clone(compiled.StringField(doc, root, "kind"))
	}
	doc.Release()
	return apiVersion, kind, err
}
