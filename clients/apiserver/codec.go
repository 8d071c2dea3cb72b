package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// storedCBOR encodes and recognizes stored objects in CBOR.
var storedCBOR = cbor.NewSerializer(unstructuredscheme.NewUnstructuredCreator(), unstructuredscheme.NewUnstructuredObjectTyper())

// storageCodec reads stored objects in the version of an endpoint, and writes them in the storage version. It reads
// JSON and CBOR.
type storageCodec struct {
	definition               Definition
	kind                     schema.GroupVersionKind // of the endpoint
	storageVersion, identity string
	cbor                     bool // writes CBOR
	written                  *writtenObjects
}

func (c storageCodec) Identifier() runtime.Identifier { return runtime.Identifier(c.identity) }

func (c storageCodec) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	u, ok := into.(*unstructured.Unstructured)
	if !ok {
		u = &unstructured.Unstructured{}
	}
	if u.Object = c.written.read(data); u.Object != nil {
		return u, &c.kind, nil
	}
	if ok, _, _ := storedCBOR.RecognizesData(data); ok {
		stored := &unstructured.Unstructured{}
		if _, _, err := storedCBOR.Decode(data, nil, stored); err != nil {
			return nil, nil, err
		}
		var err error
		if data, err = marshal(stored); err != nil {
			return nil, nil, err
		}
	}
	out, err := c.definition.Read(background, engine.JSON(data), engine.ReadOptions{TargetVersion: c.kind.Version})
	if err != nil {
		return nil, nil, unconverted(err)
	}
	if err := unmarshal(out.Object, u); err != nil {
		return nil, nil, err
	}
	c.written.share(u)
	return u, &c.kind, nil
}

func (c storageCodec) Encode(obj runtime.Object, w io.Writer) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("cannot store a %T", obj)
	}
	known := c.written.take(u)
	stored, err := convert(c.definition, u, c.storageVersion)
	if err != nil {
		return err
	}
	if c.cbor {
		return storedCBOR.Encode(stored, w)
	}
	return write(w, func(text []byte) ([]byte, error) {
		p := &printer{}
		text, err := p.append(text, stored.Object)
		if err == nil && known && stored == u && !p.rounded {
			c.written.add(text, u)
		}
		return text, err
	})
}

// convert returns an object in another version of its CRD, or the object itself if it has that version.
func convert(d Definition, u *unstructured.Unstructured, to string) (*unstructured.Unstructured, error) {
	from := u.GroupVersionKind().Version
	if from == to {
		return u, nil
	}
	text, err := marshal(u)
	if err != nil {
		return nil, err
	}
	out, err := d.Convert(background, engine.JSON(text), to, engine.TransformOptions{Version: from})
	if err != nil {
		return nil, unconverted(err)
	}
	converted := &unstructured.Unstructured{}
	return converted, unmarshal(out.Object, converted)
}

// unconverted returns the error for an object that cannot be converted. Upstream returns the text of its converter.
func unconverted(err error) error {
	switch engine.ReasonOf(err) {
	case engine.ReasonConversionFailed, engine.ReasonConversionUnavailable, engine.ReasonObjectRejected:
		return err
	}
	return unevaluated(err)
}

// bodyDecoder decodes the bodies of requests, and objects that patches have changed.
type bodyDecoder struct {
	bodySerializer
	ctx        context.Context // of the request: upstream's decoders have no context
	definition Definition
	kind       schema.GroupVersionKind
	store      *objectStore // of the objects, nil for no speculation
}

func (d bodyDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	u, ok := into.(*unstructured.Unstructured)
	switch {
	case into == nil:
		u = &unstructured.Unstructured{}
	case !ok:
		return d.Serializer.Decode(data, defaults, into)
	}
	document, strict, kind, err := d.document(data, defaults)
	if err != nil {
		return nil, kind, err
	}
	o := kubeserver.WriteOptions{View: engine.ViewChanged, FieldValidation: engine.FieldValidationIgnore}
	if d.strict {
		o.FieldValidation = engine.FieldValidationWarn // with StrictErrors: the handler decides whether they reject
	}
	out := outcomeOf(d.ctx)
	out.unevaluated, out.speculation = nil, nil // of an earlier attempt of a patch
	s, w := d.speculate(document)
	var v kubeserver.BodyAndValidateVerdict
	if s != nil {
		v, err = d.definition.BodyAndValidate(d.ctx, w, o)
	} else {
		v.BodyVerdict, err = d.definition.Body(d.ctx, d.kind.Version, document, o)
	}
	switch {
	case err != nil:
		// Handlers answer errors of decoders with 400 or 422. The object is decoded without the evaluator instead, and
		// the store rejects it.
		out.unevaluated = unevaluated(err)
		return d.Serializer.Decode(data, defaults, into)
	case v.Rejection != nil:
		if kind, err = d.rejected(data, defaults, u, v.Rejection); err != nil {
			return nil, kind, err
		}
	default:
		if v.Object == nil { // unchanged
			v.Object = document.JSON
		}
		if err := unmarshal(v.Object, u); err != nil {
			return nil, &d.kind, err
		}
		of := u.GroupVersionKind()
		kind = &of
	}
	if v.ValidateAccepts {
		s.decoded, s.warnings, s.readsAsWritten = v.Object, engine.KubernetesWarnings(v.Warnings), v.ReadsAsWritten
		out.speculation = s
	}
	for _, text := range v.StrictErrors {
		strict = append(strict, errors.New(text))
	}
	if len(strict) == 0 {
		return u, kind, nil
	}
	return u, kind, runtime.NewStrictDecodingError(strict)
}

// document returns a body for the evaluator, with errors of strict decoding that only the serializer finds. Bodies in
// other formats than JSON are decoded by the serializer: it returns the kind and the error for an unreadable one.
func (d bodyDecoder) document(data []byte, defaults *schema.GroupVersionKind) (document engine.Document, strict []error, kind *schema.GroupVersionKind, err error) {
	if d.json {
		return engine.JSON(data), nil, nil, nil
	}
	u := &unstructured.Unstructured{} // on an error, handlers report the kind of into
	_, kind, err = d.Serializer.Decode(data, defaults, u)
	if found, isStrict := runtime.AsStrictDecodingError(err); isStrict {
		strict, err = found.Errors(), nil
	}
	if err != nil {
		return document, nil, kind, err
	}
	text, err := marshal(u)
	return engine.JSON(text), strict, kind, err
}

// rejected returns the error for a body that the evaluator rejects. Upstream's serializer reports an unreadable body. It
// decodes a body of another version than the endpoint's, which handlers and the validation reject themselves.
func (d bodyDecoder) rejected(data []byte, defaults *schema.GroupVersionKind, into *unstructured.Unstructured, r *engine.Rejection) (*schema.GroupVersionKind, error) {
	u := &unstructured.Unstructured{}
	obj, kind, err := d.Serializer.Decode(data, defaults, u)
	switch {
	case obj == nil:
		return kind, err
	case r.Cause != r.Message: // the error of the evaluator's decoder
		return kind, errors.New(r.Cause)
	}
	into.Object = u.Object
	return kind, nil
}
