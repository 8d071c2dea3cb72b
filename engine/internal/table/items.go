package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Target is the version of a table. It is only used for objects that are lists: rows with whole objects convert each
// item to that version.
type Target struct {
	schema.GroupVersion
	// Versions holds all versions of the CRD.
	Versions []string
	// Convert converts an item to the version. nil changes the apiVersion.
	Convert func(of schema.GroupVersionKind, item []byte) ([]byte, error)
}

// appendItem appends the row of an item. Items are not coerced or validated, so upstream's accessors read them.
func (r *Rows) appendItem(dst []byte, item uint32, object RowObject) ([]byte, error) {
	from := len(dst)
	dst, err := r.appendCells(r.next(dst), item)
	if err != nil {
		return dst, err
	}
	content, ok := r.d.Any(item).(map[string]any)
	if !ok {
		return dst, errors.New("an object has no members")
	}
	u := &unstructured.Unstructured{Object: content}
	var shown any
	switch {
	case object == RowWhole:
		shown, err = r.convert(u, item)
		if err != nil && r.Late == nil {
			r.Late = err
		}
	case object == RowMetadata || u.GetAnnotations()[endOfInitialEvents] == "true":
		p := meta.AsPartialObjectMetadata(u)
		p.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
		shown = p
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return dst, err
	}
	dst = append(append(append(dst, `,"object":`...), text...), '}')
	if r.bytes += len(dst) - from; r.bytes > MaxRowBytes {
		return dst, r.tooLarge("rows of one object")
	}
	r.ends = append(r.ends, len(dst))
	return dst, nil
}

// convert converts an item to the version of the table. It returns what is printed as JSON.
//
// Upstream: apiextensions-apiserver pkg/apiserver/conversion crConverter.ConvertToVersion.
func (r *Rows) convert(u *unstructured.Unstructured, item uint32) (any, error) {
	of, t := u.GroupVersionKind(), &r.target
	switch {
	case of.Group != t.Group:
		return nil, Rejection(fmt.Sprintf("%v is unstructured and is not suitable for converting to %q", of.String(), t.GroupVersion))
	case !slices.Contains(t.Versions, of.Version):
		return nil, Rejection("request to convert CR from an invalid group/version: " + of.GroupVersion().String())
	case t.Convert != nil && r.Late == nil:
		converted, err := t.Convert(of, r.d.AppendDecoded(nil, item))
		return json.RawMessage(converted), err
	}
	u.SetGroupVersionKind(t.WithKind(of.Kind))
	return u.Object, nil
}
