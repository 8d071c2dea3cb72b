package crdeval

import (
	"maps"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// errorDomain is the domain of the error details of crdeval.
const errorDomain = "crdeval.dev"

// ReasonOf returns the reason of an error, and the metadata that belongs to it, such as `crd` or `limit`. err is an error
// of a call, or the Err of a result. The reason is ERROR_REASON_UNSPECIFIED for other errors: for example the error of a
// lost connection, a *Rejected or a *RejectedError.
func ReasonOf(err error) (crdevalv1.ErrorReason, map[string]string) {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain {
			reason := crdevalv1.ErrorReason_value["ERROR_REASON_"+info.GetReason()]
			return crdevalv1.ErrorReason(reason), maps.Clone(info.GetMetadata())
		}
	}
	return crdevalv1.ErrorReason_ERROR_REASON_UNSPECIFIED, nil
}
