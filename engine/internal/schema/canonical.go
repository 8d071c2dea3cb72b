package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// canonicalCRD has the fields of a CRD's canonical form. The metadata is always written.
type canonicalCRD struct {
	APIVersion string                                        `json:"apiVersion"`
	Kind       string                                        `json:"kind"`
	Metadata   metav1.ObjectMeta                             `json:"metadata"`
	Spec       *apiextensionsv1.CustomResourceDefinitionSpec `json:"spec"`
}

// Canonical returns the CRD as canonical JSON: apiextensions.k8s.io/v1, keys sorted, without status and without the
// metadata that a server sets. The form is stable: decoding and encoding it again gives the same bytes. Numbers are
// printed as the API server stores them, so a default of 1.0 becomes 1.
//
// It returns an error if a default, an enum or an example set by a Go program is not valid JSON.
func Canonical(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	scratch := scratches.Get().(*[]byte)
	w := writer{d: tree.Acquire(), out: (*scratch)[:0]}
	defer func() {
		w.d.Release()
		if cap(w.out) <= mostScratch {
			*scratch = w.out[:0]
			scratches.Put(scratch)
		}
	}()
	m := &crd.ObjectMeta
	w.value(&canonicalCRD{
		APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition", Spec: &crd.Spec,
		Metadata: metav1.ObjectMeta{Annotations: m.Annotations, Finalizers: m.Finalizers, GenerateName: m.GenerateName,
			Labels: m.Labels, Name: m.Name, OwnerReferences: m.OwnerReferences},
	})
	if w.err != nil {
		return nil, fmt.Errorf("CRD %s cannot be written as JSON: %w", crd.Name, w.err)
	}
	return bytes.Clone(w.out), nil
}

// scratches pools output buffers. Buffers larger than mostScratch are not pooled.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

const mostScratch = 4 << 20

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

// semantic compares API types as the API server does. An empty list or map equals an absent one. JSON is compared by
// value, and an integer never equals a float.
var semantic = conversion.EqualitiesOrDie(func(a, b apiextensionsv1.JSON) bool {
	if !HasValue(&a) || !HasValue(&b) {
		return !HasValue(&a) && !HasValue(&b)
	}
	if bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	var x, y any
	if json.Unmarshal(a.Raw, &x) != nil || json.Unmarshal(b.Raw, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
})

// Equal reports whether two parts of a CRD are semantically equal. The API server uses this comparison to decide
// whether all versions share a schema, subresources, columns or selectable fields.
// (k8s.io/apimachinery/pkg/api/equality, Semantic, over the internal types)
func Equal[T any](a, b T) bool { return semantic.DeepEqual(a, b) }

// Print returns a part of a CRD in the form that field errors show: upstream's internal type, whose members have Go
// names and are all printed. convert is upstream's conversion.
func Print[In, Out any](part *In, convert func(*In, *Out, conversion.Scope) error) *Out {
	out := new(Out)
	_ = convert(part, out, nil) // it fails only for values that are not JSON, which Decode rejects
	return out
}

// PrintSchema is Print for a schema.
func PrintSchema(s *Props) *apiextensions.JSONSchemaProps {
	return Print(s, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps)
}
