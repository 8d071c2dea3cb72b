package convert

import (
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// IsRules reports whether a document contains conversion rules: an object with the field crd and without kind and
// apiVersion. It returns the value of crd. The error is an *engine.Error if the document cannot be read.
func IsRules(doc engine.Document, l engine.Limits) (crd string, ok bool, err error) {
	defer host.Recover(&err)
	d := tree.Acquire()
	root, err := compiled.Document(doc).Parse(d, "document", l)
	if err == nil && lens.IsFile(d, root) {
		crd, ok = strings.Clone(compiled.StringField(d, root, "crd")), true
	}
	d.Release()
	return crd, ok, compiled.Error(err)
}
