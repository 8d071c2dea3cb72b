package webhook

import (
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// rejection returns the Status that an API server would send, with a cause for each violation. The API server prefixes the message
// with the name of the webhook.
func (r *Request) rejection(why *crdevalv1.Rejection, violations []*crdevalv1.Violation) *metav1.Status {
	s := &metav1.Status{
		Status: metav1.StatusFailure, Code: why.GetCode(), Reason: metav1.StatusReason(why.GetReason()), Message: why.GetMessage(),
	}
	if len(violations) == 0 {
		return s
	}
	s.Details = &metav1.StatusDetails{
		Name: r.inner.Name, Group: r.inner.Kind.Group, Kind: r.inner.Kind.Kind, Causes: make([]metav1.StatusCause, len(violations)),
	}
	for i, v := range violations {
		s.Details.Causes[i] = metav1.StatusCause{Type: metav1.CauseType(v.GetType()), Message: v.GetMessage(), Field: v.GetField()}
	}
	return s
}

// noDefinition are the reasons of errors that say that the catalog has no CRD for the resource.
var noDefinition = map[string]bool{"CRD_NOT_FOUND": true, "CRD_NOT_ESTABLISHED": true, "VERSION_NOT_FOUND": true, "VERSION_NOT_SERVED": true}

// failed denies a request for a resource that the catalog does not know. It returns any other error: the failurePolicy decides.
//
// The code is 403: clients take 404 for an object that is gone, and 422 for one that is invalid.
func (r *Request) failed(catalog string, err *statusv1.Status) (*Answer, error) {
	if !noDefinition[reasonOf(err)] {
		return nil, status.FromProto(err).Err() //nolint:wrapcheck // it is one of our own
	}
	resource := r.inner.Resource
	text := fmt.Sprintf("%s of %s/%s cannot be evaluated: %s; register the CRD in the catalog %s of crdeval, or take the resource out of the rules of the webhook",
		resource.Resource, resource.Group, resource.Version, strings.TrimSuffix(err.GetMessage(), "."), catalog)
	if resource.Group == "" {
		text = fmt.Sprintf("%s of %s cannot be evaluated: they are of the core group, which no CRD can have; take the resource out of the rules of the webhook", resource.Resource, resource.Version)
	}
	return r.deny(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: text}, "", nil), nil
}

// reasonOf returns the reason of an item's error.
func reasonOf(err *statusv1.Status) string {
	var info errdetails.ErrorInfo
	for _, detail := range err.GetDetails() {
		if detail.MessageIs(&info) && detail.UnmarshalTo(&info) == nil {
			return info.GetReason()
		}
	}
	return ""
}
