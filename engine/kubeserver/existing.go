package kubeserver

import (
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// ExistingFrom reads a CRD as a registered and established one, from a manifest or from the output of kubectl get -o
// yaml, with the stored versions of its status, and whether it is being deleted. It does not judge the CRD. The error is
// an *engine.Error for a manifest that exceeds a limit or is not a readable CRD.
func ExistingFrom(manifest engine.Document, l engine.Limits) (name string, existing *engine.Existing, err error) {
	defer host.Recover(&err)
	source := definition.Source{Doc: tree.Acquire()} // not released by defer: after a panic it must not return to the pool
	m, err := compiled.DecodeManifest(&source, compiled.Document(manifest), l)
	if err != nil {
		decode, err := compiled.Undecodable(&source, err)
		if err == nil {
			err = compiled.UnreadableManifest("manifest", decode)
		}
		return "", nil, compiled.Error(err)
	}
	source.Doc.Release()
	canonical, err := schema.Canonical(m.CRD)
	if err != nil {
		return "", nil, &engine.Error{Reason: engine.ReasonManifestUnreadable, Message: err.Error(), Err: err}
	}
	existing = &engine.Existing{Manifest: canonical, Generation: max(1, m.CRD.Generation)}
	existing.Status, existing.Terminating = definition.RegisteredStatus(m.CRD)
	return m.CRD.Name, existing, nil
}
