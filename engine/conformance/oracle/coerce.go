package oracle

import (
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// coercer reproduces unstructuredSchemaCoercer of upstream's customresource_handler.go: the same calls in the same
// order.
type coercer struct {
	lenient               bool // dropInvalidMetadata and repairGeneration, for stored bytes
	schemas               map[string]*structuralschema.Structural
	kind                  schema.GroupKind
	preserveUnknownFields bool
	trackUnknown          bool
}

func (c coercer) apply(u *unstructured.Unstructured) ([]string, error) {
	kind, hasKind, err := unstructured.NestedString(u.UnstructuredContent(), "kind")
	if err != nil {
		return nil, err
	}
	apiVersion, hasVersion, err := unstructured.NestedString(u.UnstructuredContent(), "apiVersion")
	if err != nil {
		return nil, err
	}
	objectMeta, hasMeta, unknown, err := schemaobjectmeta.GetObjectMetaWithOptions(u.Object, schemaobjectmeta.ObjectMetaOptions{
		DropMalformedFields:     c.lenient,
		ReturnUnknownFieldPaths: c.trackUnknown,
	})
	if err != nil {
		return nil, err
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	if gv.Group == c.kind.Group && kind == c.kind.Kind {
		structural := c.schemas[gv.Version]
		if !c.preserveUnknownFields {
			unknown = append(unknown, structuralpruning.PruneWithOptions(u.Object, structural, true,
				structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: c.trackUnknown})...)
			structuraldefaulting.PruneNonNullableNullsWithoutDefaults(u.Object, structural)
		}
		err, paths := schemaobjectmeta.CoerceWithOptions(nil, u.Object, structural, false, schemaobjectmeta.CoerceOptions{
			DropInvalidFields:       c.lenient,
			ReturnUnknownFieldPaths: c.trackUnknown,
		})
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, paths...)
		if c.lenient && objectMeta.Generation == 0 {
			objectMeta.Generation = 1
		}
	}
	if hasKind {
		u.SetKind(kind)
	}
	if hasVersion {
		u.SetAPIVersion(apiVersion)
	}
	if hasMeta {
		if err := schemaobjectmeta.SetObjectMeta(u.Object, objectMeta); err != nil {
			return nil, err
		}
	}
	return unknown, nil
}

// coercingDecoder reproduces schemaCoercingDecoder.
type coercingDecoder struct {
	delegate runtime.Decoder
	coercer  coercer
}

func (d coercingDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	var strict []error
	obj, gvk, err := d.delegate.Decode(data, defaults, into)
	if err != nil {
		strictErr, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			return nil, gvk, err
		}
		strict = strictErr.Errors()
	}
	var unknown []string
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if unknown, err = d.coercer.apply(u); err != nil {
			return nil, gvk, err
		}
	}
	if d.coercer.trackUnknown && (len(strict) > 0 || len(unknown) > 0) {
		for _, f := range unknown {
			strict = append(strict, fmt.Errorf(`unknown field "%s"`, f))
		}
		return obj, gvk, runtime.NewStrictDecodingError(strict)
	}
	return obj, gvk, nil
}

// coercingConverter reproduces schemaCoercingConverter.
type coercingConverter struct {
	runtime.ObjectConvertor
	coercer coercer
}

func (c coercingConverter) Convert(in, out, context any) error {
	if err := c.ObjectConvertor.Convert(in, out, context); err != nil {
		return err
	}
	if u, ok := out.(*unstructured.Unstructured); ok {
		_, err := c.coercer.apply(u)
		return err
	}
	return nil
}

func (c coercingConverter) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	out, err := c.ObjectConvertor.ConvertToVersion(in, gv)
	if err != nil {
		return nil, err
	}
	if u, ok := out.(*unstructured.Unstructured); ok {
		if _, err := c.coercer.apply(u); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// defaulter reproduces unstructuredDefaulter.
type defaulter struct {
	schemas map[string]*structuralschema.Structural
	kind    schema.GroupKind
}

func (d defaulter) Default(in runtime.Object) {
	u, ok := in.(runtime.Unstructured)
	if !ok || u.GetObjectKind().GroupVersionKind().GroupKind() != d.kind {
		scheme.Default(in)
		return
	}
	structuraldefaulting.Default(u.UnstructuredContent(), d.schemas[u.GetObjectKind().GroupVersionKind().Version])
}
