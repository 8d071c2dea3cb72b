package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine"
)

// marshal returns an object as JSON with sorted keys.
func marshal(u *unstructured.Unstructured) ([]byte, error) { return utiljson.Marshal(u.Object) }

// unmarshal replaces the content of an object.
func unmarshal(text []byte, u *unstructured.Unstructured) error {
	content := map[string]any{}
	if err := utiljson.Unmarshal(text, &content); err != nil {
		return err
	}
	u.Object = content
	return nil
}

// storageCodec reads stored objects in the version of an endpoint, and writes them in the storage version.
type storageCodec struct {
	definition               Definition
	kind                     schema.GroupVersionKind // of the endpoint
	storageVersion, identity string
}

func (c storageCodec) Identifier() runtime.Identifier { return runtime.Identifier(c.identity) }

func (c storageCodec) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	out, err := c.definition.Read(context.Background(), engine.Item{Object: engine.JSON(data)}, engine.EvaluationOptions{TargetVersion: c.kind.Version})
	if err != nil {
		return nil, nil, err
	}
	u, ok := into.(*unstructured.Unstructured)
	if !ok {
		u = &unstructured.Unstructured{}
	}
	if err := unmarshal(out.Object, u); err != nil {
		return nil, nil, err
	}
	return u, &c.kind, nil
}

func (c storageCodec) Encode(obj runtime.Object, w io.Writer) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("cannot store a %T", obj)
	}
	text, err := marshal(u)
	if err == nil && c.kind.Version != c.storageVersion {
		text, err = convert(c.definition, text, c.kind.Version, c.storageVersion)
		stored := &unstructured.Unstructured{}
		if err == nil {
			err = unmarshal(text, stored)
		}
		if err == nil {
			text, err = marshal(stored) // sorted, so that an unchanged object has unchanged bytes
		}
	}
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

func convert(d Definition, text []byte, from, to string) ([]byte, error) {
	out, err := d.Convert(context.Background(), engine.Item{Version: from, Object: engine.JSON(text)}, engine.EvaluationOptions{TargetVersion: to})
	if err != nil {
		return nil, unevaluated(err)
	}
	return out.Object, nil
}

// bodySerializer marks the serializer of a media type, so that DecoderToVersion can choose the decoder of bodies.
type bodySerializer struct {
	runtime.Serializer
	yaml, strict bool
}

// bodyDecoder decodes bodies of requests. Objects of other kinds than the endpoint's go to the fallback.
type bodyDecoder struct {
	definition   Definition
	kind         schema.GroupVersionKind
	fallback     runtime.Decoder
	yaml, strict bool
}

func (d bodyDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	doc := engine.JSON(data)
	if d.yaml {
		doc = engine.YAML(data)
	}
	apiVersion, kind, err := engine.TypeMetaOf(doc, engine.Limits{})
	if err != nil || kind != d.kind.Kind || apiVersion != d.kind.GroupVersion().String() {
		return d.fallback.Decode(data, defaults, into)
	}
	o := engine.EvaluationOptions{Stage: engine.StageBody, FieldValidation: engine.FieldValidationIgnore}
	if d.strict {
		o.FieldValidation = engine.FieldValidationWarn // with StrictErrors: the handler decides whether they reject
	}
	v, err := d.definition.Admit(context.Background(), engine.Item{Version: d.kind.Version, Object: doc}, o)
	switch {
	case err != nil:
		return nil, &d.kind, unevaluated(err)
	case v.Rejection != nil:
		return nil, &d.kind, errors.New(v.Rejection.Cause)
	}
	u := &unstructured.Unstructured{}
	if err := unmarshal(v.Object, u); err != nil {
		return nil, &d.kind, err
	}
	if target, ok := into.(*unstructured.Unstructured); ok {
		target.Object, u = u.Object, target
	}
	if len(v.StrictErrors) == 0 {
		return u, &d.kind, nil
	}
	strict := make([]error, len(v.StrictErrors))
	for i, text := range v.StrictErrors {
		strict[i] = errors.New(text)
	}
	return u, &d.kind, runtime.NewStrictDecodingError(strict)
}
