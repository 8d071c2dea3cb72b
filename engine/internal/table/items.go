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
	// Webhook is set if the CRD converts through a webhook.
	Webhook bool
}

// ErrNeedsWebhook reports that an item of a list object needs conversion by the CRD's webhook. The webhook is not
// called for such items.
var ErrNeedsWebhook = errors.New("an item of a list of items would have to be converted by the CRD's webhook")

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
		if err := r.target.convert(u); err != nil && r.Late == nil {
			r.Late = err
		}
		shown = u.Object
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

// convert converts an item to the version of the table.
//
// Upstream: apiextensions-apiserver pkg/apiserver/conversion crConverter.ConvertToVersion.
func (t *Target) convert(u *unstructured.Unstructured) error {
	of := u.GroupVersionKind()
	_, kind := u.Object["kind"]
	switch {
	case of.Group != t.Group:
		return Rejection(fmt.Sprintf("%v is unstructured and is not suitable for converting to %q", of.String(), t.GroupVersion))
	case !slices.Contains(t.Versions, of.Version):
		return Rejection("request to convert CR from an invalid group/version: " + of.GroupVersion().String())
	case t.Webhook && of.Version == t.Version:
		return nil
	case t.Webhook && (!kind || len(u.Object) != 2): // webhooks are not called for only apiVersion and kind
		return ErrNeedsWebhook
	}
	u.SetGroupVersionKind(t.WithKind(of.Kind))
	return nil
}
