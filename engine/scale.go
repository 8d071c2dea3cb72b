package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/value"
)

// GetScale returns the autoscaling/v1 Scale of an object as JSON, as the scale subresource of a served version does.
// version is that of the request, "" for the object's own. The object is used as it is: Read one from storage first, or
// let Read or Admit include the Scale.
//
// The error is an *Error. It is INVALID_ARGUMENT for an object of another kind or version, and for a version without a
// scale subresource. It is OBJECT_REJECTED, with the API server's answer in its Rejection, for an object without spec
// replicas or with values of wrong types.
func (d *Definition) GetScale(ctx context.Context, version string, object Document) (_ []byte, err error) {
	defer Recover(&err)
	var text []byte
	err = d.inspect(ctx, version, object, func(v *admission.Version, doc *value.Doc, root uint32) error {
		if v.Scale == nil {
			return d.noScale(v)
		}
		var err error
		text, err = v.Scale.Get(doc, root)
		return scaleError(err)
	})
	return text, err
}

// scaleError returns the Error for the error of a get of a Scale, with the API server's answer. Nil gives nil.
func scaleError(err error) error {
	if err == nil {
		return nil
	}
	rejection := &Rejection{Code: http.StatusInternalServerError, Message: err.Error()}
	if status := new(apierrors.StatusError); errors.As(err, &status) {
		s := status.ErrStatus
		rejection = &Rejection{Code: s.Code, Reason: string(s.Reason), Message: s.Message}
	}
	return &Error{Reason: ReasonObjectRejected, Message: rejection.Message, Err: err, Rejection: rejection}
}

// noScale returns the error for a version without the subresource, with the API server's answer.
func (d *Definition) noScale(v *admission.Version) error {
	return &Error{
		Reason:    ReasonInvalidArgument,
		Message:   fmt.Sprintf("version %q of %s has no scale subresource: declare one under subresources", v.Name, d.compiled.Inner.Name),
		Rejection: &Rejection{Code: http.StatusNotFound, Reason: "NotFound", Message: "the server could not find the requested resource"},
	}
}

// SetScale returns the object with the replicas of a Scale, as the scale subresource sets them before the write
// continues like any other update. Missing objects on the path are created, and the Scale's resourceVersion, if any,
// becomes that of the object. Nothing is validated or defaulted, and managed fields do not change: Admit with the
// subresource scale is the whole write. version is that of the request, "" for the object's own. The Scale is decoded
// as with FieldValidationIgnore.
//
// The error is an *Error: INVALID_ARGUMENT as for GetScale, or OBJECT_REJECTED, with the API server's answer in its
// Rejection, for a Scale that cannot be decoded or belongs to another object, and for an object that has something else
// than an object on the path.
func (d *Definition) SetScale(ctx context.Context, version string, object, scale Document) (_ []byte, err error) {
	defer Recover(&err)
	body, isYAML, err := scale.text("scale")
	if err != nil {
		return nil, err
	}
	r := admission.Request{Limits: d.compiled.Limits, FieldValidation: admission.Ignore, Scale: true, Body: body, YAML: isYAML, WantObject: true}
	err = d.inspect(ctx, version, object, func(v *admission.Version, _ *value.Doc, _ uint32) error {
		if v.Scale == nil {
			return d.noScale(v)
		}
		r.Version = v.Name
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.Old, r.OldYAML, _ = object.text("object")
	out, err := d.compiled.Inner.SetScale(ctx, &r)
	switch {
	case err != nil:
		return nil, faultError(err)
	case out.Rejection != nil:
		message := out.Rejection.Message
		if cause := out.Rejection.Cause; !strings.Contains(message, cause) { // the API server's text lacks the cause of a decoding error
			message += ": " + cause
		}
		return nil, &Error{Reason: ReasonObjectRejected, Message: message, Rejection: out.Rejection,
			Violations: violations(out.Violations), Warnings: warnings(out.Warnings)}
	}
	return out.Object, nil
}
