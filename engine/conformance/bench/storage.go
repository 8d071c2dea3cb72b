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

// written is what comes of a write: the bytes for the database and those for the client.
type written struct{ stored, answered []byte }

// same makes sure that both sides come to the same bytes, but for the order of keys and white space, before anything is
// timed. Ours names what is stored only if it is not what is answered.
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

// write is what becomes of an object that was accepted: it is encoded for the database and decoded from there as
// whatever is read is, and that is encoded for the client. Upstream would copy the whole object once more, to convert
// it to the version that it is of; that is left out.
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

// read is what becomes of bytes from the database: malformed metadata is dropped, the rest coerced and defaulted; and
// after its conversion, which here changes nothing, coerced once more.
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

// coerce stands for unstructuredSchemaCoercer.apply without the paths of unknown fields.
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
