package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// GetScale returns the autoscaling/v1 Scale of an object as JSON, as the scale subresource of a served version does.
// version is that of the request, "" for the object's own. The object is used as it is: Read one from storage first, or
// let Read or Admit include the Scale.
//
// The error is an *engine.Error. It is INVALID_ARGUMENT for an object of another kind or version, and for a version
// without a scale subresource. It is OBJECT_REJECTED, with the API server's answer in its Rejection, for an object without spec
// replicas or with values of wrong types.
func GetScale(ctx context.Context, d *engine.Definition, version string, object engine.Document) (_ []byte, err error) {
	defer host.Recover(&err)
	var text []byte
	err = compiled.Of(d).Inspect(ctx, version, compiled.Document(object), func(v *admission.Version, doc *tree.Doc, root uint32) error {
		if v.Scale == nil {
			return noScale(d.Name(), v)
		}
		var err error
		text, err = v.Scale.Get(doc, root)
		return scaleError(err)
	})
	return text, compiled.Error(err)
}

// scaleError returns the error for the error of a get of a Scale, with the API server's answer. Nil gives nil.
func scaleError(err error) error {
	if err == nil {
		return nil
	}
	rejection := &engine.Rejection{Code: http.StatusInternalServerError, Message: err.Error()}
	if status := new(apierrors.StatusError); errors.As(err, &status) {
		s := status.ErrStatus
		rejection = &engine.Rejection{Code: s.Code, Reason: string(s.Reason), Message: s.Message}
	}
	return &engine.Error{Reason: engine.ReasonObjectRejected, Message: rejection.Message, Err: err, Rejection: rejection}
}

// noScale returns the error for a version without the subresource, with the API server's answer.
func noScale(crd string, v *admission.Version) error {
	return &engine.Error{
		Reason:    engine.ReasonInvalidArgument,
		Message:   fmt.Sprintf("version %q of %s has no scale subresource: declare one under subresources", v.Name, crd),
		Rejection: &engine.Rejection{Code: http.StatusNotFound, Reason: "NotFound", Message: "the server could not find the requested resource"},
	}
}

// SetScale returns the object with the replicas of a Scale, as the scale subresource sets them before the write
// continues like any other update. Missing objects on the path are created, and the Scale's resourceVersion, if any,
// becomes that of the object. Nothing is validated or defaulted, and managed fields do not change: Admit with the
// subresource scale is the whole write. version is that of the request, "" for the object's own. The Scale is decoded
// as with FieldValidationIgnore.
//
// The error is an *engine.Error: INVALID_ARGUMENT as for GetScale, or OBJECT_REJECTED, with the API server's answer in
// its Rejection, for a Scale that cannot be decoded or belongs to another object, and for an object that has something else
// than an object on the path.
func SetScale(ctx context.Context, d *engine.Definition, version string, object, scale engine.Document) (_ []byte, err error) {
	defer host.Recover(&err)
	c := compiled.Of(d)
	body, isYAML, err := compiled.Document(scale).Text("scale")
	if err != nil {
		return nil, compiled.Error(err)
	}
	r := admission.Request{Limits: c.Limits, FieldValidation: admission.Ignore, Scale: true, Body: body, YAML: isYAML, WantObject: true}
	err = c.Inspect(ctx, version, compiled.Document(object), func(v *admission.Version, _ *tree.Doc, _ uint32) error {
		if v.Scale == nil {
			return noScale(d.Name(), v)
		}
		r.Version = v.Name
		return nil
	})
	if err != nil {
		return nil, compiled.Error(err)
	}
	r.Old, r.OldYAML, _ = compiled.Document(object).Text("object")
	out, err := c.Inner.SetScale(ctx, &r)
	switch {
	case err != nil:
		return nil, compiled.Error(err)
	case out.Rejection != nil:
		message := out.Rejection.Message
		if cause := out.Rejection.Cause; !strings.Contains(message, cause) { // the API server's text lacks the cause of a decoding error
			message += ": " + cause
		}
		return nil, compiled.Error(&admission.Fault{Code: admission.ObjectRejected, Text: message, Rejection: out.Rejection,
			Violations: out.Violations, Warnings: out.Warnings})
	}
	return out.Object, nil
}
