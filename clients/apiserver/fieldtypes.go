package apiserver

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/crdeval/crdeval/cache"
)

// fieldTypesBytes bounds the OpenAPI models whose field types are kept. The types need up to three times as much memory.
const fieldTypesBytes = 1 << 20

// fieldTypesCache keeps the field types of the CRDs whose objects were written last.
type fieldTypesCache = *cache.Cache[*fieldTypes, builtTypes]

func newFieldTypesCache() fieldTypesCache {
	return cache.New(cache.Options[*fieldTypes, builtTypes]{
		MaxBytes: fieldTypesBytes, Weigh: func(b builtTypes) int64 { return b.bytes },
	})
}

// builtTypes are field types, with the size of their models.
type builtTypes struct {
	managedfields.TypeConverter
	bytes int64
}

// fieldTypes is the TypeConverter of a CRD. It keeps the models compressed, and builds the types again if they are not in
// the cache. So it calls no evaluator: a field manager ignores errors.
type fieldTypes struct {
	models   []byte
	preserve bool
	built    fieldTypesCache
}

// models are the schemas of a CRD in an OpenAPI document.
type models struct {
	Components struct {
		Schemas map[string]*spec.Schema `json:"schemas"`
	} `json:"components"`
}

// newFieldTypes returns what the field manager knows about the types of a CRD.
func newFieldTypes(ctx context.Context, d Definition, preserve bool, built fieldTypesCache) (*fieldTypes, error) {
	text, err := d.Models(ctx)
	if err != nil {
		return nil, err
	}
	var m models
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	for _, s := range m.Components.Schemas {
		removeDescriptions(s)
	}
	if text, err = json.Marshal(&m); err != nil {
		return nil, err
	}
	var compressed bytes.Buffer
	w, err := flate.NewWriter(&compressed, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	t := &fieldTypes{models: bytes.Clone(compressed.Bytes()), preserve: preserve, built: built}
	b, err := t.build(&m, len(text))
	if err == nil {
		built.Add(t, b)
	}
	return t, err
}

// removeDescriptions removes most of the text of a schema. Field types do not need it.
func removeDescriptions(s *spec.Schema) {
	s.Description = ""
	for name, property := range s.Properties {
		removeDescriptions(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		removeDescriptions(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		removeDescriptions(s.AdditionalProperties.Schema)
	}
}

// get returns the types.
func (t *fieldTypes) get() (builtTypes, error) {
	return t.built.Get(background, t, func(context.Context) (b builtTypes, err error) {
		text, err := io.ReadAll(flate.NewReader(bytes.NewReader(t.models)))
		if err != nil {
			return b, err
		}
		var m models
		if err := json.Unmarshal(text, &m); err != nil {
			return b, err
		}
		return t.build(&m, len(text))
	})
}

// build returns the types of models. size is that of their text.
func (t *fieldTypes) build(m *models, size int) (builtTypes, error) {
	if len(m.Components.Schemas) == 0 {
		return builtTypes{managedfields.NewDeducedTypeConverter(), 0}, nil
	}
	types, err := managedfields.NewTypeConverter(m.Components.Schemas, t.preserve)
	return builtTypes{types, int64(size)}, err
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t *fieldTypes) ObjectToTyped(obj runtime.Object, o ...typed.ValidationOptions) (*typed.TypedValue, error) {
	types, err := t.get()
	if err != nil {
		return nil, err
	}
	return types.ObjectToTyped(obj, o...)
}

// TypedToObject implements managedfields.TypeConverter.
func (t *fieldTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	types, err := t.get()
	if err != nil {
		return nil, err
	}
	return types.TypedToObject(value)
}
