package bench

import (
	"bytes"
	"encoding/json"
	"errors"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// written is the result of a write: the bytes for the database and those for the client.
type written struct{ stored, answered []byte }

// same checks that both sides return the same bytes, except for the order of keys and white space, before the
// measurement. Ours returns the stored object only if it differs from the response.
func (w written) same(theirs written) error {
	if w.stored == nil {
		w.stored = w.answered
	}
	return errors.Join(sameText(w.stored, theirs.stored), sameText(w.answered, theirs.answered))
}

func sameText(ours, theirs []byte) error {
	var object any
	if err := json.Unmarshal(theirs, &object); err != nil {
		return err
	}
	return sameObject(ours, object)
}

// write is what happens to an accepted object: it is encoded for the database, decoded from there, and encoded for the
// client. Upstream's copy of the whole object for the conversion to its own version is omitted.
func (u *upstream) write(object *unstructured.Unstructured) (w written, err error) {
	if w.stored, err = encode(object); err != nil {
		return w, err
	}
	back, err := u.read(w.stored)
	if err != nil {
		return w, err
	}
	w.answered, err = encode(back)
	return w, err
}

func encode(object *unstructured.Unstructured) ([]byte, error) {
	var text bytes.Buffer
	err := unstructured.UnstructuredJSONScheme.Encode(object, &text)
	return text.Bytes(), err
}

// read is what happens to bytes from the database: invalid metadata is dropped, the rest is coerced and defaulted, and
// coerced again after a conversion that changes nothing here.
func (u *upstream) read(text []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if _, _, err := unstructured.UnstructuredJSONScheme.Decode(text, nil, object); err != nil {
		return nil, err
	}
	if err := u.coerce(object.Object, true); err != nil {
		return nil, err
	}
	structuraldefaulting.Default(object.Object, u.schema)
	return object, u.coerce(object.Object, false)
}

// coerce is unstructuredSchemaCoercer.apply without the paths of unknown fields.
func (u *upstream) coerce(content map[string]any, lenient bool) error {
	meta, found, _, err := schemaobjectmeta.GetObjectMetaWithOptions(content, schemaobjectmeta.ObjectMetaOptions{DropMalformedFields: lenient})
	if err != nil {
		return err
	}
	structuralpruning.PruneWithOptions(content, u.schema, true, structuralschema.UnknownFieldPathOptions{})
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(content, u.schema)
	if err, _ := schemaobjectmeta.CoerceWithOptions(nil, content, u.schema, false, schemaobjectmeta.CoerceOptions{DropInvalidFields: lenient}); err != nil {
		return err
	}
	if !found {
		return nil
	}
	if lenient && meta.Generation == 0 {
		meta.Generation = 1
	}
	return schemaobjectmeta.SetObjectMeta(content, meta)
}
