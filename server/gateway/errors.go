package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// domain is that of every ErrorInfo of the service.
const domain = "crdeval.dev"

// reasonPrefix is what the names of the enum have and the reasons on the wire have not.
const reasonPrefix = "ERROR_REASON_"

// failure makes the error of a request that never reaches the gRPC server.
func failure(code codes.Code, reason crdevalv1.ErrorReason, message string, metadata map[string]string) error {
	return withReason(status.New(code, message), reason, metadata).Err()
}

func withReason(st *status.Status, reason crdevalv1.ErrorReason, metadata map[string]string) *status.Status {
	detailed, err := st.WithDetails(&errdetails.ErrorInfo{
		Reason: strings.TrimPrefix(reason.String(), reasonPrefix), Domain: domain, Metadata: metadata,
	})
	if err != nil {
		return st
	}
	return detailed
}

// httpStatus is the HTTP status of a status: that of its reason where the code alone would not say enough.
func httpStatus(st *status.Status) int {
	switch reasonOf(st) {
	case crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED:
		return http.StatusRequestEntityTooLarge
	case crdevalv1.ErrorReason_ERROR_REASON_METHOD_NOT_ALLOWED:
		return http.StatusMethodNotAllowed
	case crdevalv1.ErrorReason_ERROR_REASON_MEDIA_TYPE_NOT_SUPPORTED:
		return http.StatusUnsupportedMediaType
	case crdevalv1.ErrorReason_ERROR_REASON_WATCH_EXPIRED:
		return http.StatusGone
	case crdevalv1.ErrorReason_ERROR_REASON_CRD_REJECTED:
		return http.StatusUnprocessableEntity
	}
	return runtime.HTTPStatusFromCode(st.Code())
}

func reasonOf(st *status.Status) crdevalv1.ErrorReason {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == domain {
			return crdevalv1.ErrorReason(crdevalv1.ErrorReason_value[reasonPrefix+info.GetReason()])
		}
	}
	return crdevalv1.ErrorReason_ERROR_REASON_UNSPECIFIED
}

// explained gives a status that has no reason the one its code stands for: statuses of gRPC itself, of a deadline, of a message
// over the limit, of parameters that grpc-gateway could not read.
func explained(st *status.Status) *status.Status {
	if reasonOf(st) != crdevalv1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		return st
	}
	reason := crdevalv1.ErrorReason_ERROR_REASON_INTERNAL
	switch st.Code() {
	case codes.InvalidArgument, codes.OutOfRange:
		reason = crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT
	case codes.ResourceExhausted:
		reason = crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED
	case codes.DeadlineExceeded: // the client here noticed before the server answered
		st = status.New(st.Code(), "the call's deadline came before an answer")
		reason = crdevalv1.ErrorReason_ERROR_REASON_DEADLINE
	case codes.Canceled:
		reason = crdevalv1.ErrorReason_ERROR_REASON_CANCELLED
	case codes.Unavailable:
		reason = crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED
	case codes.Unauthenticated:
		reason = crdevalv1.ErrorReason_ERROR_REASON_UNAUTHENTICATED
	case codes.PermissionDenied:
		reason = crdevalv1.ErrorReason_ERROR_REASON_PERMISSION_DENIED
	}
	return withReason(st, reason, nil)
}

// writeError answers with a status: its JSON, and the HTTP status that stands for it.
func writeError(w http.ResponseWriter, st *status.Status) {
	st = explained(st)
	text, err := appendForeign(nil, st.Proto())
	if err != nil {
		text = strconv.AppendQuote([]byte(`{"code":13,"message":`), st.Message())
		text = append(text, '}')
	}
	if st.Code() == codes.Unauthenticated {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeJSON(w, httpStatus(st), text)
}

// handleError is grpc-gateway's way to answer with an error. It keeps only the text of what went wrong with a body; the body has
// the rest.
func handleError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	if b, ok := r.Body.(*body); ok && b.err != nil {
		writeError(w, b.status())
		return
	}
	var malformed *runtime.HTTPStatusError
	if errors.As(err, &malformed) && malformed.HTTPStatus == http.StatusBadRequest {
		err = status.Error(codes.InvalidArgument, malformed.Error())
	}
	writeError(w, status.Convert(err))
}

// handleRoutingError is grpc-gateway's way to say that it has no path for a request. That the router has one for it is so for the likes of apis/..%2f.. only, in
// which grpc-gateway looks at what is not unescaped.
func handleRoutingError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, code int) {
	if code == http.StatusBadRequest {
		writeError(w, status.Convert(failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
			fmt.Sprintf("the path %s is not escaped as it should be", r.URL.EscapedPath()), nil)))
		return
	}
	writeError(w, status.Convert(nothingThere(r)))
}
