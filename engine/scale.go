package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/internal/value"
)

// GetScale returns the autoscaling/v1 Scale of an object as JSON, as the scale subresource of a served version answers it. version is that of the request, empty for the
// object's own. The object is taken as it is: one that comes from storage is read first (Read and Admit can include the Scale in their answers). The error is
// an *Error: INVALID_ARGUMENT for an object of another kind or version and for a version without a scale subresource, OBJECT_REFUSED, with the API server's answer in
// its Refusal, for an object without replicas in its spec or with something of another type than an integer, or of the selector a text, on one of the paths.
func (d *Definition) GetScale(ctx context.Context, version string, object Document) (_ []byte, err error) {
	defer recovered(&err)
	if err := ctx.Err(); err != nil {
		return nil, tooLate(err)
	}
	doc := value.Acquire() // not released by defer: after a panic it must not go back into the pool
	text, err := d.scaleIn(doc, version, object)
	doc.Release()
	return text, err
}

func (d *Definition) scaleIn(doc *value.Doc, version string, object Document) ([]byte, error) {
	v, root, err := d.presented(doc, version, object)
	if err != nil {
		return nil, err
	}
	if v.Scale == nil {
		return nil, d.noScale(v)
	}
	text, err := v.Scale.View().Get(doc, root)
	if err != nil {
		return nil, unscaled(err)
	}
	return text, nil
}

// noScale is the error of a version without the subresource; its Refusal is what an API server answers.
func (d *Definition) noScale(v *admission.Version) error {
	return &Error{Reason: ReasonInvalidArgument, Message: fmt.Sprintf("version %q of %s has no scale subresource: declare one under subresources", v.Name, d.inner.Name),
		Rejection: &Rejection{Code: http.StatusNotFound, Reason: "NotFound", Message: "the server could not find the requested resource"}}
}

// unscaled is the error of an object that has no Scale.
func unscaled(err error) error {
	refusal := &Rejection{Code: http.StatusInternalServerError, Message: err.Error()}
	if status := new(apierrors.StatusError); errors.As(err, &status) {
		s := status.ErrStatus
		refusal = &Rejection{Code: s.Code, Reason: string(s.Reason), Message: s.Message}
	}
	return &Error{Reason: ReasonObjectRejected, Message: refusal.Message, Err: err, Rejection: refusal}
}

// SetScale returns the object with the replicas of a Scale, which is what the scale subresource makes of the two before the write goes on as any other update: containers
// on the path that are absent are made, and the Scale's resourceVersion, if it has one, becomes the object's. Nothing is validated, defaulted or counted up, and managed
// fields are left to the server: Admit with the subresource scale is the whole write. version is that of the request, empty for the object's own; the Scale is
// decoded as strictly as with FieldValidationIgnore. The error is an *Error: INVALID_ARGUMENT as with GetScale; OBJECT_REFUSED, with the API server's answer in its Refusal,
// and in its Warnings why a Scale cannot be decoded, for a Scale that cannot be decoded or is that of another object (name, namespace, uid), and for an object in which the path leads through something that is no object.
func (d *Definition) SetScale(ctx context.Context, version string, object, scale Document) (_ []byte, err error) {
	defer recovered(&err)
	switch {
	case scale.Absent():
		return nil, &Error{Reason: ReasonInvalidArgument, Message: "there is no scale"}
	case scale.JSON != nil && scale.YAML != nil:
		return nil, bothSet("scale")
	}
	doc := value.Acquire() // not released by defer, as in GetScale
	v, _, err := d.presented(doc, version, object)
	doc.Release()
	if err != nil {
		return nil, err
	}
	if v.Scale == nil {
		return nil, d.noScale(v)
	}
	r := admission.Request{Version: v.Name, Limits: d.limits, FieldValidation: admission.Ignore, Scale: true, Body: scale.JSON, Old: object.JSON, WantObject: true}
	if scale.YAML != nil {
		r.Body, r.YAML = scale.YAML, true
	}
	if object.YAML != nil {
		r.Old, r.OldYAML = object.YAML, true
	}
	out, err := d.inner.SetScale(ctx, &r)
	switch {
	case err != nil:
		return nil, faultError(err)
	case out.Rejection != nil:
		message := out.Rejection.Message
		if cause := out.Rejection.Cause; !strings.Contains(message, cause) { // an API server does not tell why a Scale cannot be decoded
			message += ": " + cause
		}
		return nil, &Error{Reason: ReasonObjectRejected, Message: message, Rejection: rejection(out.Rejection), Warnings: out.Warnings}
	}
	return out.Object, nil
}
