package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/value"
)

// serverMetadata are the fields of metadata that a server sets, namespace among them: a CRD has none.
var serverMetadata = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "namespace",
	"resourceVersion", "selfLink", "uid",
}

// Canonical returns the CRD as JSON in its canonical form: apiextensions.k8s.io/v1, keys sorted, without status and
// without the metadata that a server sets. A CRD that was decoded from it has the same canonical form. Numbers are
// printed as the API server stores them, which loses what it loses: a default of 1.0 is 1 from then on.
//
// The error is one of encoding: JSON that a Go program put into a default, an enum or an example and that is invalid.
func Canonical(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	scratch := scratches.Get().(*[]byte)
	w := writer{d: value.Acquire(), out: (*scratch)[:0]}
	defer func() {
		w.d.Release()
		if cap(w.out) <= mostScratch {
			*scratch = w.out[:0]
			scratches.Put(scratch)
		}
	}()
	frame, err := frame(crd, w.d)
	if err != nil {
		return nil, fmt.Errorf("CRD %s cannot be written as JSON: %w", crd.Name, err)
	}
	for i := range crd.Spec.Versions {
		s := Of(&crd.Spec.Versions[i])
		if s == nil {
			continue
		}
		before, after, _ := bytes.Cut(frame, placeholder)
		w.out = append(append(w.out, before...), placeholder[:len(placeholder)-len("{}")]...)
		w.props(s)
		frame = after
	}
	if w.err != nil {
		return nil, fmt.Errorf("CRD %s cannot be written as JSON: %w", crd.Name, w.err)
	}
	w.out = append(w.out, frame...)
	return bytes.Clone(w.out), nil
}

// scratches are buffers in which canonical forms grow, which take several times their size otherwise; larger ones are
// not kept.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

const mostScratch = 4 << 20

// placeholder stands for the schema of a version. Nothing else in a CRD can look like it: within texts quotes are
// escaped, and no other key of this name has an object for its value.
var placeholder = []byte(`"openAPIV3Schema":{}`)

// frame returns the canonical form of a CRD without its schemas.
func frame(crd *apiextensionsv1.CustomResourceDefinition, d *value.Doc) ([]byte, error) {
	bare := *crd
	bare.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	bare.ManagedFields = nil
	bare.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	bare.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for i := range bare.Spec.Versions {
		if Of(&bare.Spec.Versions[i]) != nil {
			bare.Spec.Versions[i].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &Props{}}
		}
	}
	text, err := json.Marshal(&bare)
	if err != nil {
		return nil, err
	}
	root, err := d.ParseJSON(text, value.Limits{MaxBytes: len(text)})
	if err != nil {
		return nil, err
	}
	remove(d, root, "status")
	if meta := d.Field(root, "metadata"); meta != 0 {
		remove(d, meta, serverMetadata...)
	}
	return d.AppendCanonical(nil, root), nil
}

// remove removes members of an object by their names.
func remove(d *value.Doc, object uint32, names ...string) {
	var prev, next uint32
	for c := d.Nodes[object].First; c != 0; c = next {
		next = d.Nodes[c].Next
		if slices.Contains(names, d.Key(c)) {
			d.Remove(object, prev, c)
			continue
		}
		prev = c
	}
}

// Revision returns "sha256:" and the hex digest of a canonical form and of whatever else shapes its meaning, part by
// part. Equal revisions mean equal answers to every question.
func Revision(canonical []byte, parts ...string) string {
	h := sha256.New()
	h.Write(canonical)
	for _, p := range parts {
		// The length keeps neighbouring parts apart.
		_, _ = io.WriteString(h, fmt.Sprintf("\x00%d:%s", len(p), p))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
