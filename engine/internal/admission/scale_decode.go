package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/value"
)

// scaleKind is the type of the scale subresource.
var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scaleScheme returns the types that upstream's decoder of Scales knows.
var scaleScheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(autoscalingv1.AddToScheme(s))
	return s
})

// olderScales are the group versions of Scales that upstream's decoder knows and cannot convert.
var olderScales = map[string]bool{"extensions/v1beta1": true, "apps/v1beta1": true, "apps/v1beta2": true}

// decodeScale decodes a Scale. byDefault is the type of a body that declares none. of is the type that the body
// declares, or nil. unknown holds the texts about unknown and duplicate fields. The error is upstream's, or a Fault of
// metadata beyond its bounds, since apimachinery has no deadline.
func decodeScale(body []byte, o jsonserializer.SerializerOptions, byDefault *schema.GroupVersionKind) (
	scale *autoscalingv1.Scale, of *schema.GroupVersionKind, unknown []string, err error) {
	s := scaleScheme()
	decoder := versioning.NewDefaultingCodecForScheme(s, nil,
		jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, s, s, o),
		runtime.DisabledGroupVersioner, scaleKind.GroupVersion())
	scale = &autoscalingv1.Scale{}
	made, of, err := decoder.Decode(body, byDefault, scale)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && made != nil {
		for _, e := range strict.Errors() {
			unknown = append(unknown, e.Error())
		}
		err = nil
	}
	switch {
	case err != nil && runtime.IsNotRegisteredError(err) && of != nil && of.Kind == scaleKind.Kind &&
		olderScales[of.GroupVersion().String()]:
		err = fmt.Errorf("converting (%s.Scale) to (v1.Scale): unknown conversion", of.Version)
	case err == nil && made != scale:
		err = fmt.Errorf("unable to decode %s into %T", of, scale)
	}
	return scale, of, unknown, err
}

// unregistered is the API server's text about a Scale that cannot be decoded. It searches the kind among custom
// resources.
//
// Upstream: endpoints/handlers/rest.go, transformDecodeError; customresource_handler.go, which overrides the scope's
// serializer and not its typer.
const unregistered = `no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"`

// readScale decodes the body. It returns nil if the body is rejected. The error is a Fault.
func (p *pass) readScale() (*autoscalingv1.Scale, error) {
	strict := p.r.FieldValidation != Ignore && p.r.Stage != StageFinish
	sent, of, unknown, err := decodeScale(p.r.Body, jsonserializer.SerializerOptions{Yaml: p.r.YAML, Strict: strict}, &scaleKind)
	if err == nil && p.r.FieldValidation == Strict && len(unknown) > 0 {
		err = strictError(unknown)
	}
	switch {
	case err != nil:
		p.out.Rejection = badRequest(unregistered, err.Error())
		p.warn(Notice + "the Scale cannot be decoded: " + err.Error())
		return nil, nil
	case of.GroupVersion() != scaleKind.GroupVersion():
		p.out.Rejection = otherVersion(of.GroupVersion().String(), scaleKind.GroupVersion().String())
		return nil, nil
	}
	p.out.Strict = unknown
	p.warnStrict()
	return sent, fitsScale(sent)
}

// patchScale applies the patch to a Scale. It returns nil if the patch is rejected.
func (p *pass) patchScale(current *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	text, err := json.Marshal(current)
	if err != nil {
		return nil, internal(err)
	}
	q := p.patching
	q.held = value.Acquire()
	root, err := q.held.Parse(text, value.Request, value.Limits{})
	if err != nil {
		return nil, internal(err)
	}
	if rejected, err := p.apply(root, true); rejected || err != nil {
		return nil, err
	}
	made, _, unknown, err := decodeScale(q.tree.Printed(),
		jsonserializer.SerializerOptions{Strict: p.r.FieldValidation != Ignore}, nil)
	if err == nil {
		p.out.Strict = slices.Concat(q.unknown, unknown)
		if len(p.out.Strict) > 0 && p.r.FieldValidation == Strict {
			err = strictError(p.out.Strict)
		}
	}
	if err != nil {
		p.out.Rejection = p.rejectPatched(err.Error())
		return nil, nil
	}
	p.warnStrict()
	return made, fitsScale(made)
}

// fitsScale checks the bounds of a Scale's metadata, since apimachinery has no deadline. The error is a Fault.
func fitsScale(sent *autoscalingv1.Scale) error {
	if err := metadata.FitsMeta(&sent.ObjectMeta); err != nil {
		return about(exceeded(err), "Scale: ")
	}
	return nil
}
