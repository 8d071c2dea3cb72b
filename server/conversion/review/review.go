// Package review has the messages between API servers and conversion webhooks.
//
// Upstream: apiextensions-apiserver pkg/apiserver/conversion/webhook_converter.go.
package review

import (
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
)

// New returns the ConversionReview for a webhook, and an empty one for its response. They have the first version of the
// webhook that API servers support. Without such a version, it returns an error.
func New(r conversionwebhook.Request, id types.UID) (request, response runtime.Object, err error) {
	objects := make([]runtime.RawExtension, len(r.Objects))
	for i, o := range r.Objects {
		objects[i].Raw = o
	}
	for _, version := range r.Webhook.ConversionReviewVersions {
		switch version {
		case apiextensionsv1.SchemeGroupVersion.Version:
			return &apiextensionsv1.ConversionReview{
				Request:  &apiextensionsv1.ConversionRequest{UID: id, DesiredAPIVersion: r.DesiredAPIVersion, Objects: objects},
				Response: &apiextensionsv1.ConversionResponse{},
			}, &apiextensionsv1.ConversionReview{}, nil
		case apiextensionsv1beta1.SchemeGroupVersion.Version:
			return &apiextensionsv1beta1.ConversionReview{
				Request:  &apiextensionsv1beta1.ConversionRequest{UID: id, DesiredAPIVersion: r.DesiredAPIVersion, Objects: objects},
				Response: &apiextensionsv1beta1.ConversionResponse{},
			}, &apiextensionsv1beta1.ConversionReview{}, nil
		}
	}
	return nil, nil, errors.New("no supported conversion review versions")
}

// Objects returns the objects of a response. If the webhook could not convert them, the error is an
// conversionwebhook.ErrFailed. The kind and the uid of a v1beta1 response are not checked, as in API servers.
func Objects(response runtime.Object, id types.UID) ([][]byte, error) {
	var result metav1.Status
	var objects []runtime.RawExtension
	missing := true
	switch review := response.(type) {
	case *apiextensionsv1.ConversionReview:
		want := apiextensionsv1.SchemeGroupVersion.WithKind("ConversionReview")
		if got := review.GroupVersionKind(); got != want {
			return nil, fmt.Errorf("expected webhook response of %v, got %v", want.String(), got.String())
		}
		if r := review.Response; r != nil {
			if r.UID != id {
				return nil, fmt.Errorf("expected response.uid=%q, got %q", id, r.UID)
			}
			missing, result, objects = false, r.Result, r.ConvertedObjects
		}
	case *apiextensionsv1beta1.ConversionReview:
		if r := review.Response; r != nil {
			missing, result, objects = false, r.Result, r.ConvertedObjects
		}
	}
	switch {
	case missing:
		return nil, errors.New("no response provided")
	case result.Status == metav1.StatusSuccess:
	case result.Message != "":
		return nil, failed(result.Message)
	default:
		return nil, failed(fmt.Sprintf("response.result.status was '%s', not 'Success'", result.Status))
	}
	texts := make([][]byte, len(objects))
	for i := range objects {
		texts[i] = objects[i].Raw
	}
	return texts, nil
}

// failed is the text of a webhook that cannot convert an object.
type failed string

// Error returns the text.
func (f failed) Error() string { return string(f) }

// Is makes failed a conversionwebhook.ErrFailed.
func (f failed) Is(target error) bool { return target == conversionwebhook.ErrFailed }
