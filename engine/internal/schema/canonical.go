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

// serverMetadata lists the metadata fields that a server sets. It includes namespace because CRDs are cluster-scoped.
var serverMetadata = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "namespace",
	"resourceVersion", "selfLink", "uid",
}

// Canonical returns the CRD as canonical JSON: apiextensions.k8s.io/v1, keys sorted, without status and without the
// metadata that a server sets. The form is stable: decoding and encoding it again gives the same bytes. Numbers are
// printed as the API server stores them, so a default of 1.0 becomes 1.
//
// It returns an error if a default, an enum or an example set by a Go program is not valid JSON.
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

// scratches pools output buffers. Buffers larger than mostScratch are not pooled.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

const mostScratch = 4 << 20

// placeholder marks the position of a version's schema. It cannot occur elsewhere in a CRD: strings escape their
// quotes, and no other key with this name has an object as its value.
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

// remove removes the named members of an object.
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

// Revision returns "sha256:" and the hex digest of a canonical form and of the parts. The parts are all other inputs
// that affect results. CRDs with equal revisions behave the same.
func Revision(canonical []byte, parts ...string) string {
	h := sha256.New()
	h.Write(canonical)
	for _, p := range parts {
		// The length prefix separates adjacent parts.
		_, _ = io.WriteString(h, fmt.Sprintf("\x00%d:%s", len(p), p))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
