package sidecar

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// reasonOf returns the reason of an error of the server. It is unspecified for another error, such as that of a lost
// connection.
func reasonOf(err error) crdevalv1.ErrorReason {
	reason, _ := crdeval.ReasonOf(err)
	return reason
}

// isLost reports whether the server does not have the registration of a Definition: it was restarted with an empty store,
// or has dropped the revision. TOKEN_INVALID is the error for the token of another store.
func isLost(err error) bool {
	switch reasonOf(err) {
	case crdevalv1.ErrorReason_ERROR_REASON_CATALOG_NOT_FOUND, crdevalv1.ErrorReason_ERROR_REASON_CRD_NOT_FOUND,
		crdevalv1.ErrorReason_ERROR_REASON_REVISION_NOT_FOUND, crdevalv1.ErrorReason_ERROR_REASON_TOKEN_INVALID:
		return true
	}
	return false
}

// outdatedError says that the server has a newer CRD than a Definition, and no longer the revision of the Definition.
type outdatedError struct{ crd string }

func (e outdatedError) Error() string {
	return fmt.Sprintf("CRD %s has changed since the request began: send the request again", e.crd)
}

// result counts an outage, and returns the error for the caller of a Definition.
func (e *Evaluator) result(ctx context.Context, err error) error {
	switch err := e.fault(ctx, err); {
	case err == nil:
		e.outages.ongoing.Store(false)
		return nil
	case apierrors.IsServiceUnavailable(err):
		e.outages.add(err)
		return err
	default:
		return err
	}
}

// fault converts an error of a call.
func (e *Evaluator) fault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return &engine.Error{Reason: engine.ReasonItemDeadline, Message: "the request ended before the crdeval sidecar has answered", Err: ended}
	}
	if own := (*engine.Error)(nil); errors.As(err, &own) {
		return own
	}
	if outdated := (outdatedError{}); errors.As(err, &outdated) {
		return unavailable(outdated.Error(), time.Second)
	}
	st, reason := status.Convert(err), reasonOf(err)
	switch {
	case reason == crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED:
		return unavailable(fmt.Sprintf("the crdeval sidecar at %s is overloaded: %s", e.address, st.Message()), retryDelay(st))
	case reason == crdevalv1.ErrorReason_ERROR_REASON_STORE_UNAVAILABLE || reason == crdevalv1.ErrorReason_ERROR_REASON_REPLICA_BEHIND || isLost(err):
		return unavailable(fmt.Sprintf("the crdeval sidecar at %s cannot evaluate: %s", e.address, st.Message()), time.Second)
	case reason == crdevalv1.ErrorReason_ERROR_REASON_UNSPECIFIED && st.Code() == codes.DeadlineExceeded:
		return unavailable(fmt.Sprintf("the crdeval sidecar at %s cannot be reached: no response within %v", e.address, e.timeout), time.Second)
	case reason == crdevalv1.ErrorReason_ERROR_REASON_UNSPECIFIED && (st.Code() == codes.Unavailable || st.Code() == codes.Canceled):
		return unavailable(fmt.Sprintf("the crdeval sidecar at %s cannot be reached: %s", e.address, st.Message()), time.Second)
	case reason == crdevalv1.ErrorReason_ERROR_REASON_DEADLINE:
		return &engine.Error{Reason: engine.ReasonItemDeadline, Message: st.Message(), Err: err}
	case reason == crdevalv1.ErrorReason_ERROR_REASON_UNSPECIFIED || reason == crdevalv1.ErrorReason_ERROR_REASON_INTERNAL:
		return &engine.Error{Reason: engine.ReasonInternal, Message: fmt.Sprintf("sidecar at %s: %s", e.address, st.Message()), Err: err}
	}
	fault := &engine.Error{Reason: engine.Reason(strings.TrimPrefix(reason.String(), "ERROR_REASON_")), Message: st.Message(), Err: err}
	_, metadata := crdeval.ReasonOf(err)
	fault.Limit, _ = strconv.ParseInt(metadata["maximum"], 10, 64) // 0 for a reason without a limit
	fault.Actual, _ = strconv.ParseInt(metadata["actual"], 10, 64)
	return fault
}

// retryDelay returns the delay that an overloaded server gives.
func retryDelay(st *status.Status) time.Duration {
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return time.Second
}

// unavailable returns 503 ServiceUnavailable with Retry-After, in whole seconds.
func unavailable(message string, retry time.Duration) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: message, Details: &metav1.StatusDetails{RetryAfterSeconds: int32(max(1, math.Ceil(retry.Seconds())))},
	}}
}
