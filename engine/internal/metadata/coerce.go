package metadata

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Options are the options of Coerce.
type Options struct {
	// Lenient drops malformed fields instead of failing, as upstream does with bytes from storage.
	Lenient bool
	// Track asks for the paths of unknown fields.
	Track bool
	// RepairGeneration sets a missing generation to 1, as upstream does with root objects from storage.
	RepairGeneration bool
	// Path is the path of the object with the metadata, or nil. It is used only in texts.
	Path *field.Path
}

// Coerce does to the member "metadata" of the object at node obj what a round trip through metav1.ObjectMeta does: it
// removes unknown fields and empty values, rewrites times, and fails for malformed values (or removes them, if
// o.Lenient). An object without the member is not changed. unknown holds the paths of unknown fields, sorted, if
// o.Track. The error has encoding/json's text. If changed, the caller must mark the ancestors of obj dirty.
//
// Upstream: apiextensions-apiserver pkg/apiserver/schema/objectmeta, GetObjectMetaWithOptions and SetObjectMeta.
func Coerce(d *tree.Doc, obj uint32, o Options) (changed bool, unknown []string, err error) {
	meta := d.Field(obj, "metadata")
	if meta == 0 {
		return false, nil, nil
	}
	normalized, changed := Normalize(d, meta)
	if normalized && (!o.RepairGeneration || d.Field(meta, "generation") != 0) {
		if changed {
			d.MarkDirty(obj)
		}
		return changed, nil, nil
	}
	decoded, unknown, err := decode(d.Any(meta), o)
	if err != nil {
		return changed, nil, err
	}
	if o.RepairGeneration && decoded.Generation == 0 {
		decoded.Generation = 1
	}
	d.MarkDirty(obj)
	return true, unknown, replace(d, meta, decoded)
}

// replace replaces the metadata at node meta by an ObjectMeta. Keys that stay keep their order. The caller must mark
// the ancestors of meta dirty.
func replace(d *tree.Doc, meta uint32, m *metav1.ObjectMeta) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		return fmt.Errorf("encoding metadata: %w", err)
	}
	made, err := d.Parse(appendInOrder(nil, content, d, meta), tree.Arena, tree.Limits{})
	if err != nil {
		return fmt.Errorf("encoding metadata: %w", err)
	}
	d.Replace(meta, made)
	return nil
}

// decode makes an ObjectMeta from a metadata value.
func decode(metadata any, o Options) (m *metav1.ObjectMeta, unknown []string, err error) {
	text, err := utiljson.Marshal(metadata)
	if err != nil {
		return nil, nil, err
	}
	m = &metav1.ObjectMeta{}
	if unknown, err = unmarshal(text, m, o); err == nil {
		return m, unknown, nil
	}
	if !o.Lenient {
		return nil, nil, err
	}
	fields, ok := metadata.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("invalid metadata: expected object, got %T", metadata)
	}
	m, unknown = decodeFields(fields, o)
	return m, unknown, nil
}

func unmarshal(text []byte, m *metav1.ObjectMeta, o Options) (unknown []string, err error) {
	if !o.Track {
		return nil, utiljson.Unmarshal(text, m)
	}
	strict, err := kjson.UnmarshalStrict(text, m)
	if err != nil || len(strict) == 0 {
		return nil, err
	}
	prefix := o.prefix()
	for _, e := range strict {
		var f kjson.FieldError
		if errors.As(e, &f) {
			unknown = append(unknown, prefix+f.FieldPath())
		}
	}
	return unknown, nil
}

// prefix returns the prefix of the paths of metadata fields.
func (o *Options) prefix() string { return o.Path.Child("metadata").String() + "." }

// decodeFields decodes field by field and skips malformed ones. Like upstream it decodes each field twice into
// ObjectMetas that accumulate the results. Upstream's order is random; here keys are sorted. Unknown fields are not
// decoded, since they have no effect and there may be many.
func decodeFields(fields map[string]any, o Options) (decoded *metav1.ObjectMeta, unknown []string) {
	m, trial := &metav1.ObjectMeta{}, &metav1.ObjectMeta{}
	prefix := o.prefix()
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if kindOf(k) == noKind {
			if o.Track {
				unknown = append(unknown, prefix+k)
			}
			continue
		}
		text, err := utiljson.Marshal(map[string]any{k: fields[k]})
		if err != nil || utiljson.Unmarshal(text, trial) != nil {
			continue
		}
		more, _ := unmarshal(text, m, o) // cannot fail after the trial
		unknown = append(unknown, more...)
	}
	return m, unknown
}
