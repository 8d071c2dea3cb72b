package kubeserver

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/selector"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/publish"
)

// FieldReader reads the selectable fields of objects of one version of a CRD that need not be compiled. It is immutable
// and safe for concurrent use.
type FieldReader struct {
	fields *selector.Fields
}

// NewFieldReader returns the FieldReader of a version of a CRD with this scope.
func NewFieldReader(version *apiextensionsv1.CustomResourceDefinitionVersion, scope apiextensionsv1.ResourceScope) *FieldReader {
	return &FieldReader{selector.CompileFields(version, scope == apiextensionsv1.NamespaceScoped)}
}

// Names returns the fields as publish.SelectableFields does. The caller must not modify the slice.
func (r *FieldReader) Names() []string { return r.fields.Names }

// Read returns the fields of an object of the version as publish.Select does. It does not check kind and version. The
// error of an object that an API server could not list has upstream's text.
func (r *FieldReader) Read(object engine.Document, l engine.Limits) (list []publish.SelectableField, err error) {
	defer host.Recover(&err)
	doc := tree.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := compiled.Document(object).Parse(doc, "object", l)
	if err == nil {
		list, err = r.fields.Fields(doc, root)
	}
	doc.Release()
	return list, compiled.Error(err)
}
