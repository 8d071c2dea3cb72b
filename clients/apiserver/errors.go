package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine"
)

// errNoOutcome is the cause of a write that reaches a strategy without withOutcome.
var errNoOutcome = errors.New("the context of the write has no outcome")

// rejected returns the error for a verdict that rejects the write, nil for another.
func rejected(v *engine.Verdict) error {
	if v.Rejection == nil {
		return nil
	}
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: v.Rejection.Code, Reason: metav1.StatusReason(v.Rejection.Reason),
		Message: v.Rejection.Message, Details: v.Rejection.Details,
	}
	if v.Status != nil {
		if err := json.Unmarshal(v.Status, &status); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// unevaluated returns the error for what the evaluator could not evaluate.
func unevaluated(err error) error {
	var response apierrors.APIStatus
	if errors.As(err, &response) {
		return &apierrors.StatusError{ErrStatus: response.Status()}
	}
	var e *engine.Error
	if errors.As(err, &e) && e.Rejection != nil {
		r := e.Rejection
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: r.Code, Reason: metav1.StatusReason(r.Reason), Message: r.Message, Details: r.Details,
		}}
	}
	switch engine.ReasonOf(err) {
	case engine.ReasonLimitExceeded:
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	case engine.ReasonItemDeadline:
		return apierrors.NewTimeoutError(err.Error(), 0)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: fmt.Sprintf("crdeval: %v", err),
	}}
}
