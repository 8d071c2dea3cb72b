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

// ErrNoMetadata means that upstream has no answer.
var ErrNoMetadata = errors.New("no metadata")

// Stored reads stored bytes at a version, with the codec of crdConversionRESTOptionsGetter.
func (d *Definition) Stored(body []byte, target string) ([]byte, error) {
	read, err := d.stored(body, target)
	if err != nil {
		return nil, err
	}
	return json.Marshal(read)
}

// stored is Stored without printing, because printing turns floats such as 1.0 into integers.
func (d *Definition) stored(body []byte, target string) (*unstructured.Unstructured, error) {
	c := coercer{lenient: true, schemas: d.schemas, kind: d.kind, preserveUnknownFields: d.CRD.Spec.PreserveUnknownFields}
	strict := c
	strict.lenient = false
	gv := d.kind.WithVersion(target).GroupVersion()
	codec := versioning.NewCodec(unstructured.UnstructuredJSONScheme, coercingDecoder{unstructured.UnstructuredJSONScheme, c},
		coercingConverter{d.converter, strict}, creator{}, crdserverscheme.NewUnstructuredObjectTyper(), defaulter{d.schemas, d.kind}, gv, gv, "crdRESTOptions")
	// Upstream panics on an object without metadata. No storage contains one.
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

// Converted converts an object and coerces it to the target's schema.
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

// Pruned coerces metadata and removes unknown fields, and returns their paths. Defaulted drops nulls and adds defaults.
// Objects of another kind stay unchanged, except the metadata in Pruned.
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

// isOf rejects objects of another version.
func (d *Definition) isOf(u *unstructured.Unstructured, version string) error {
	if want := d.kind.WithVersion(version).GroupVersion().String(); u.GetAPIVersion() != want {
		return fmt.Errorf("the object is of %q, not of %q", u.GetAPIVersion(), want)
	}
	return nil
}
