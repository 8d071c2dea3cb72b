package compiled

import (
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Document is engine.Document, which converts to it.
type Document struct {
	JSON, YAML []byte
	Origin     *tree.Origin
}

// Absent reports whether the Document has no content.
func (d Document) Absent() bool { return d.JSON == nil && d.YAML == nil }

// Text returns the text of a document and whether it is YAML. Errors call the document what, and are of type
// *admission.Fault.
func (d Document) Text(what string) (text []byte, isYAML bool, err error) {
	switch {
	case d.Absent():
		return nil, false, Invalid("there is no %s", what)
	case d.JSON != nil && d.YAML != nil:
		return nil, false, Invalid("the %s has both JSON and YAML: send one of them", what)
	case d.YAML != nil:
		return d.YAML, true, nil
	}
	return d.JSON, false, nil
}

// Parse parses a document into doc. Errors are those of Text and Unreadable.
func (d Document) Parse(doc *tree.Doc, what string, l tree.Limits) (root uint32, err error) {
	text, isYAML, err := d.Text(what)
	if err != nil {
		return 0, err
	}
	if isYAML {
		_, _, root, err = doc.ConvertYAML(text, tree.Request, d.Origin, l)
	} else {
		root, err = doc.ParseAt(text, tree.Request, d.Origin, l)
	}
	if err != nil {
		return 0, unreadableObject(what, err)
	}
	return root, nil
}

// StringField returns the value of a member of an object if it is a string, else "". It is valid until doc is reset.
func StringField(doc *tree.Doc, object uint32, name string) string {
	if c := doc.Field(object, name); c != 0 && doc.Nodes[c].Kind == tree.String {
		return doc.Str(c)
	}
	return ""
}
