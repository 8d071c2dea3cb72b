package diff

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// manifest is one of the two CRDs of a comparison.
type manifest struct {
	doc       *tree.Doc
	root      uint32 // 0 if the text has no tree
	finder    *tree.Finder
	crd       *apiextensionsv1.CustomResourceDefinition
	canonical []byte
}

// readOld reads the old CRD. The error is an *engine.Error.
func readOld(document engine.Document, l engine.Limits) (*manifest, error) {
	m, rejected, err := read(document, l)
	switch {
	case rejected != nil:
		err = compiled.Error(compiled.Failed(admission.ManifestUnreadable, "old CRD", rejected))
	case err != nil:
		err = within("old CRD", compiled.Error(err))
	}
	return m, err
}

// read reads and decodes a manifest. If an API server rejects it while decoding, rejected says why.
func read(document engine.Document, l engine.Limits) (_ *manifest, rejected *definition.DecodeError, err error) {
	m := &manifest{doc: tree.Acquire()}
	source := definition.Source{Doc: m.doc}
	decoded, err := compiled.DecodeManifest(&source, compiled.Document(document), l)
	if err == nil {
		m.crd = decoded.CRD
		if m.canonical, err = schema.Canonical(m.crd); err != nil {
			err = &admission.Fault{Code: admission.ManifestUnreadable, Text: err.Error(), Cause: err}
		}
	} else {
		rejected, err = compiled.Undecodable(&source, err)
	}
	if err != nil || rejected != nil {
		m.doc.Release() // not deferred: after a panic it must not return to the pool
		return nil, rejected, err
	}
	if m.root = source.Root; m.root != 0 {
		m.finder = m.doc.Finder()
	}
	return m, nil, nil
}

// existing returns the CRD as a registered one: with the status that the options know, or else that of the manifest.
func (m *manifest) existing(o *engine.Options) *engine.Existing {
	if o.Existing != nil {
		if e := o.Existing(m.crd.Name); e != nil {
			known := *e
			known.Manifest = m.canonical
			return &known
		}
	}
	status, terminating := definition.RegisteredStatus(m.crd)
	return &engine.Existing{Manifest: m.canonical, Generation: max(1, m.crd.Generation), Status: status, Terminating: terminating}
}

// position returns the position of a path of the CRD in the manifest, or that of its nearest parent there. What all
// versions share is outside of spec.versions in a v1beta1 manifest.
func (m *manifest) position(path tree.Path) *engine.Position {
	if m.root == 0 {
		return nil
	}
	node, depth := m.finder.Deepest(m.root, path)
	const prefix = 3 // spec, versions, the index
	if len(path) > prefix && depth < len(path) && path[1].Key() == "versions" {
		shared := append(tree.Path{tree.Name("spec")}, path[prefix:]...)
		if path[prefix].Key() == "schema" {
			shared[1] = tree.Name("validation")
		}
		if n, d := m.finder.Deepest(m.root, shared); d > depth {
			path, node, depth = shared, n, d
		}
	}
	position := m.doc.PositionOf(node, path[:depth])
	if position == (engine.Position{}) {
		return nil
	}
	return &position
}
