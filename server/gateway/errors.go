package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/flow"
	"github.com/crdeval/crdeval/server/gateway/codec"
)

// failure returns the error of a request that does not reach a handler.
func failure(reason crdevalv1.ErrorReason, message string, metadata map[string]string) error {
	return &api.Error{Reason: reason, Message: message, Metadata: metadata}
}

// invalid returns an INVALID_ARGUMENT error.
func invalid(format string, args ...any) error {
	return failure(crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, fmt.Sprintf(format, args...), nil)
}

// malformed returns a MALFORMED_BODY error.
func malformed(message string) error {
	return failure(crdevalv1.ErrorReason_ERROR_REASON_MALFORMED_BODY, message, nil)
}

// malformedAt returns a MALFORMED_BODY error with violations, of which the first has a position.
func malformedAt(message string, violations ...engine.Violation) *api.Error {
	metadata := map[string]string{}
	if at := violations[0].Position; at != nil && at.Line > 0 {
		metadata["line"], metadata["column"] = strconv.Itoa(at.Line), strconv.Itoa(at.Column)
	}
	return &api.Error{
		Reason: crdevalv1.ErrorReason_ERROR_REASON_MALFORMED_BODY, Message: message, Metadata: metadata, Violations: violations,
	}
}

// unsupported returns a MEDIA_TYPE_NOT_SUPPORTED error.
func unsupported(format string, args ...any) error {
	return failure(crdevalv1.ErrorReason_ERROR_REASON_MEDIA_TYPE_NOT_SUPPORTED, fmt.Sprintf(format, args...), nil)
}

// httpStatuses are the HTTP statuses of reasons for which the status of the code is not specific enough.
var httpStatuses = map[string]int{
	"LIMIT_EXCEEDED":           http.StatusRequestEntityTooLarge,
	"METHOD_NOT_ALLOWED":       http.StatusMethodNotAllowed,
	"MEDIA_TYPE_NOT_SUPPORTED": http.StatusUnsupportedMediaType,
	"WATCH_EXPIRED":            http.StatusGone,
	"CRD_REJECTED":             http.StatusUnprocessableEntity,
}

func httpStatus(st *status.Status) int {
	return cmp.Or(httpStatuses[reasonOf(st)], runtime.HTTPStatusFromCode(st.Code()))
}

func reasonOf(st *status.Status) string { return api.ErrorInfoOf(st.Proto()).GetReason() }

// codeReasons are the reasons of statuses without ErrorInfo, such as those of gRPC itself. Other codes are INTERNAL.
var codeReasons = map[codes.Code]crdevalv1.ErrorReason{
	codes.InvalidArgument:   crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
	codes.ResourceExhausted: crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
	codes.DeadlineExceeded:  crdevalv1.ErrorReason_ERROR_REASON_DEADLINE,
	codes.Canceled:          crdevalv1.ErrorReason_ERROR_REASON_CANCELLED,
	codes.Unavailable:       crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
	codes.Unauthenticated:   crdevalv1.ErrorReason_ERROR_REASON_UNAUTHENTICATED,
	codes.PermissionDenied:  crdevalv1.ErrorReason_ERROR_REASON_PERMISSION_DENIED,
}

// statusOf returns the status of an error, with a reason.
func statusOf(err error) *status.Status {
	if escape, ok := errors.AsType[*runtime.HTTPStatusError](err); ok && escape.HTTPStatus == http.StatusBadRequest {
		err = invalid("%v", escape)
	}
	if _, is := errors.AsType[*host.PanicError](err); is {
		err = failure(crdevalv1.ErrorReason_ERROR_REASON_INTERNAL, "internal error: see the log of the server", nil)
	}
	st := status.Convert(err)
	if reasonOf(st) != "" {
		return st
	}
	reason, known := codeReasons[st.Code()]
	own := api.Error{Reason: cmp.Or(reason, crdevalv1.ErrorReason_ERROR_REASON_INTERNAL), Message: st.Message()}
	if st.Code() == codes.DeadlineExceeded {
		own.Message = "the deadline of the call passed before the response"
	}
	p := own.GRPCStatus().Proto()
	if !known {
		p.Code = int32(st.Code())
	}
	return status.FromProto(p)
}

// WriteError answers with the JSON of a status, and the HTTP status that stands for it.
func WriteError(w http.ResponseWriter, err error) {
	st := statusOf(err)
	if st.Code() == codes.Unauthenticated {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	setRetryAfter(w, st)
	writeJSON(w, httpStatus(st), codec.AppendStatus(nil, st))
}

// setRetryAfter sets the header Retry-After to the delay of the status, in seconds rounded up. It returns the value, 0
// if the status has no delay.
func setRetryAfter(w http.ResponseWriter, st *status.Status) (seconds int32) {
	delay, ok := api.RetryDelayOf(st.Proto())
	if !ok {
		return 0
	}
	seconds = int32(max((delay+time.Second-1)/time.Second, 1))
	w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	return seconds
}

// raise raises the first panic of goroutines of a request again in the goroutine of the request, where it is logged.
func raise(errs ...error) {
	if p, is := errors.AsType[*host.PanicError](errors.Join(errs...)); is {
		panic(p)
	}
}

// errorLine returns the last line of a stream that ends with an error.
func errorLine(err error) []byte {
	return append(codec.AppendStatus([]byte(`{"error":`), statusOf(err)), '}', '\n')
}

// reject answers a request whose body may not have been read to its end. It writes the error at once, so that a client
// that is still sending may read it and stop.
func (g *gateway) reject(w http.ResponseWriter, r *http.Request, err error) {
	write := WriteError
	if strings.HasPrefix(r.URL.Path, webhookPrefix) {
		write = writeReviewError
	}
	bodies := g.options.Bodies
	overloaded := !bodies.draining() && reasonOf(statusOf(err)) == "OVERLOADED"
	if overloaded {
		flow.Sleep(r.Context(), overloadPause)
	}
	if r.ContentLength == 0 || r.ProtoMajor > 1 { // HTTP/2 tells clients itself to stop sending
		write(w, err)
		return
	}
	if overloaded && r.ContentLength > 0 && r.ContentLength <= keptBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodies.restPatience()))
		write(w, err)
		return
	}
	w.Header().Set("Connection", "close") // else net/http reads the rest of the body
	write(w, err)
	control := http.NewResponseController(w)
	if control.Flush() != nil || status.Code(err) == codes.DeadlineExceeded {
		return
	}
	// Many clients read the answer after they have sent everything. A connection closed before would be an error for them.
	_ = control.SetReadDeadline(time.Now().Add(bodies.restPatience())) // not every writer has deadlines
	_, _ = io.CopyN(io.Discard, r.Body, 4*g.options.MaxBodyBytes)
}

// overloadPause is how long the answer to a rejected call is held back in an overload. A client that ignores Retry-After
// then makes at most one call a second on a connection. A rejection of a large batch takes about 0.2 ms of CPU time.
const overloadPause = time.Second

// keptBody is the size up to which net/http itself reads the rest of a body and keeps the connection open. In an overload,
// a new connection costs more than the rest of a small body.
const keptBody = 256 << 10
