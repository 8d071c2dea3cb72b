package oracle

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
)

// ErrNoMetadata says that upstream has no answer.
var ErrNoMetadata = errors.New("no metadata")

// Stored answers what becomes of bytes from storage when they are read at a version: crdConversionRESTOptionsGetter's
// codec.
func (d *Definition) Stored(body []byte, target string) ([]byte, error) {
	read, err := d.stored(body, target)
	if err != nil {
		return nil, err
	}
	return json.Marshal(read)
}

// stored is Stored before it is printed, which would make integers of floats like 1.0.
func (d *Definition) stored(body []byte, target string) (*unstructured.Unstructured, error) {
	c := coercer{lenient: true, schemas: d.schemas, kind: d.kind, preserveUnknownFields: d.CRD.Spec.PreserveUnknownFields}
	strict := c
	strict.lenient = false
	gv := d.kind.WithVersion(target).GroupVersion()
	codec := versioning.NewCodec(unstructured.UnstructuredJSONScheme, coercingDecoder{unstructured.UnstructuredJSONScheme, c},
		coercingConverter{d.converter, strict}, creator{}, crdserverscheme.NewUnstructuredObjectTyper(), defaulter{d.schemas, d.kind}, gv, gv, "crdRESTOptions")
	// Upstream panics on an object that has no metadata at all, which no storage holds.
	if u := (&unstructured.Unstructured{}); u.UnmarshalJSON(body) == nil && u.GroupVersionKind().GroupKind() == d.kind && u.Object["metadata"] == nil {
		return nil, ErrNoMetadata
	}
	into := &unstructured.Unstructured{}
	into.SetGroupVersionKind(d.kind.WithVersion(target))
	if _, _, err := codec.Decode(body, nil, into); err != nil {
		return nil, err
	}
	return into, nil
}

// Converted answers what a conversion makes of an object, coercion to the target's schema included.
func (d *Definition) Converted(body []byte, target string) ([]byte, error) {
	in := &unstructured.Unstructured{}
	if err := in.UnmarshalJSON(body); err != nil {
		return nil, err
	}
	c := coercer{schemas: d.schemas, kind: d.kind, preserveUnknownFields: d.CRD.Spec.PreserveUnknownFields}
	out, err := coercingConverter{d.converter, c}.ConvertToVersion(in, d.kind.WithVersion(target).GroupVersion())
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// Pruned answers metadata coerced and unknown fields removed, and the paths of the latter; Defaulted nulls dropped and
// defaults filled in. Objects of another kind stay, but for the metadata of Pruned.
func (d *Definition) Pruned(body []byte, version string) (object []byte, unknown []string, err error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(body); err != nil {
		return nil, nil, err
	}
	if err := d.isOf(u, version); err != nil {
		return nil, nil, err
	}
	s := d.schemas[version]
	meta, found, paths, err := schemaobjectmeta.GetObjectMetaWithOptions(u.Object, schemaobjectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, nil, err
	}
	if u.GroupVersionKind().GroupKind() == d.kind {
		if !d.CRD.Spec.PreserveUnknownFields {
			paths = append(paths, structuralpruning.PruneWithOptions(u.Object, s, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
		}
		fieldErr, embedded := schemaobjectmeta.CoerceWithOptions(nil, u.Object, s, false, schemaobjectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
		if fieldErr != nil {
			return nil, nil, fieldErr
		}
		paths = append(paths, embedded...)
	}
	if found {
		if err := schemaobjectmeta.SetObjectMeta(u.Object, meta); err != nil {
			return nil, nil, err
		}
	}
	object, err = json.Marshal(u)
	return object, paths, err
}

// Defaulted is described at Pruned.
func (d *Definition) Defaulted(body []byte, version string) ([]byte, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(body); err != nil {
		return nil, err
	}
	if err := d.isOf(u, version); err != nil {
		return nil, err
	}
	if u.GroupVersionKind().GroupKind() == d.kind {
		if !d.CRD.Spec.PreserveUnknownFields {
			structuraldefaulting.PruneNonNullableNullsWithoutDefaults(u.Object, d.schemas[version])
		}
		structuraldefaulting.Default(u.Object, d.schemas[version])
	}
	return json.Marshal(u)
}

// isOf rejects objects of another version than the one asked for.
func (d *Definition) isOf(u *unstructured.Unstructured, version string) error {
	if want := d.kind.WithVersion(version).GroupVersion().String(); u.GetAPIVersion() != want {
		return fmt.Errorf("the object is of %q, not of %q", u.GetAPIVersion(), want)
	}
	return nil
}
