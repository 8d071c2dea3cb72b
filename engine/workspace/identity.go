package workspace

import (
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Identity has the names in a document, "" where they are absent or not strings.
type Identity struct {
	APIVersion, Kind string

	Name, GenerateName, Namespace string // of the metadata

	Conversion bool   // the document has conversion rules, see package convert
	CRD        string // of conversion rules
}

// readIdentity returns the Identity of a document. The error is an *engine.Error for a document that cannot be read.
func readIdentity(doc engine.Document) (id Identity, err error) {
	defer host.Recover(&err)
	d := tree.Acquire()
	root, err := compiled.Document(doc).Parse(d, "document", limits)
	if err == nil {
		id = identityOf(d, root)
	}
	d.Release()
	return id, compiled.Error(err)
}

func identityOf(d *tree.Doc, root uint32) (id Identity) {
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
