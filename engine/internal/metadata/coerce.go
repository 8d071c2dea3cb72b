package metadata

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/crdeval/crdeval/internal/value"
)

// Options say how metadata is read.
type Options struct {
	// Lenient drops fields that do not fit instead of failing: upstream's way with bytes from its storage.
	Lenient bool
	// Track asks for the paths of unknown fields.
	Track bool
	// RepairGeneration makes a missing generation 1: upstream's way with root objects from its storage.
	RepairGeneration bool
	// Path is the place of the object that has the metadata, nil at the root. It is read only for texts.
	Path *field.Path
}

// Coerce does to the member "metadata" of the object at node obj what a round trip through metav1.ObjectMeta does: unknown
// fields and empty values vanish, times are rewritten, a value that does not fit is an error (or vanishes, if o.Lenient).
// An object without the member is left alone. unknown holds the paths of unknown fields in the order of sorted keys; only
// o.Track fills it. The error has encoding/json's text, as upstream's has. changed tells the caller, who knows them, to mark
// the ancestors of obj dirty; obj is marked already.
//
// Upstream: apiextensions-apiserver pkg/apiserver/schema/objectmeta, GetObjectMetaWithOptions and SetObjectMeta.
func Coerce(d *value.Doc, obj uint32, o Options) (changed bool, unknown []string, err error) {
	meta := d.Field(obj, "metadata")
	if meta == 0 {
		return false, nil, nil
	}
	settled, changed := Settle(d, meta)
	if settled && (!o.RepairGeneration || d.Field(meta, "generation") != 0) {
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
	return true, unknown, Replace(d, meta, decoded)
}

// Replace puts an ObjectMeta in the place of the metadata at node meta, keeping the order of the keys that stay. The ancestors
// of meta are the caller's to mark dirty.
func Replace(d *value.Doc, meta uint32, m *metav1.ObjectMeta) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		return fmt.Errorf("encoding metadata: %w", err)
	}
	text, err := appendInOrder(nil, content, d, meta)
	if err != nil {
		return fmt.Errorf("encoding metadata: %w", err)
	}
	made, err := d.Parse(text, value.Arena, value.Limits{})
	if err != nil {
		return fmt.Errorf("encoding metadata: %w", err)
	}
	d.Replace(meta, made)
	return nil
}

// decode makes an ObjectMeta of a metadata value as upstream holds it.
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
	return decodeFields(fields, o)
}

func unmarshal(text []byte, m *metav1.ObjectMeta, o Options) (unknown []string, err error) {
	if !o.Track {
		return nil, utiljson.Unmarshal(text, m)
	}
	strict, err := kjson.UnmarshalStrict(text, m)
	if err != nil {
		return nil, err
	}
	return unknownPaths(strict, o), nil
}

func unknownPaths(strict []error, o Options) (paths []string) {
	if len(strict) == 0 {
		return nil
	}
	prefix := o.prefix()
	for _, e := range strict {
		var f kjson.FieldError
		if errors.As(e, &f) {
			paths = append(paths, prefix+f.FieldPath())
		}
	}
	return paths
}

// prefix is what the paths of fields of the metadata begin with.
func (o *Options) prefix() string { return o.Path.Child("metadata").String() + "." }

// known are the fields of metav1.ObjectMeta.
var known = map[string]bool{
	"name": true, "generateName": true, "namespace": true, "selfLink": true, "uid": true, "resourceVersion": true, "generation": true,
	"creationTimestamp": true, "deletionTimestamp": true, "deletionGracePeriodSeconds": true, "labels": true, "annotations": true,
	"ownerReferences": true, "finalizers": true, "managedFields": true,
}

// decodeFields reads field by field and leaves out those that do not fit. What one field leaves behind is what a second
// decoding into the same ObjectMeta leaves behind, as upstream does it. Upstream goes in random order, we sort. Fields that ObjectMeta does not have
// leave nothing behind: they are not decoded, since there may be as many as fit into an object.
func decodeFields(fields map[string]any, o Options) (m *metav1.ObjectMeta, unknown []string, err error) {
	m = &metav1.ObjectMeta{}
	trial := &metav1.ObjectMeta{}
	keys := make([]string, 0, len(fields))
	for k := range fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	prefix := ""
	for _, k := range keys {
		if !known[k] {
			if o.Track {
				if prefix == "" {
					prefix = o.prefix()
				}
				unknown = append(unknown, prefix+k)
			}
			continue
		}
		text, err := utiljson.Marshal(map[string]any{k: fields[k]})
		if err != nil || utiljson.Unmarshal(text, trial) != nil {
			continue
		}
		if !o.Track {
			_ = utiljson.Unmarshal(text, m) // it fitted the trial
			continue
		}
		strict, _ := kjson.UnmarshalStrict(text, m)
		unknown = append(unknown, unknownPaths(strict, o)...)
	}
	return m, unknown, nil
}
