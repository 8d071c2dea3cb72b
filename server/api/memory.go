package api

import (
	"errors"
	"time"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
)

// MemoryError returns the status of a call whose lease could not grow. err is the error of Grow.
func MemoryError(err error) error {
	if p := classify(err); p != nil {
		return p.GRPCStatus().Err()
	}
	return err
}

// memoryPause is how long the answer to a call is held back for whose items there is no memory. Clients that send large
// items again at once would otherwise occupy all cores with receiving them.
const memoryPause = 2 * time.Second

// lacksMemory reports whether an item failed because its call may not hold more memory.
func lacksMemory(err error) bool {
	return errors.Is(err, call.ErrNoMemory) || errors.Is(err, call.ErrTooLarge)
}

// memoryProblem returns the error of a call or an item whose lease could not grow.
func memoryProblem(err error) *Error {
	metadata := map[string]string{"limit": "memory"}
	if errors.Is(err, call.ErrTooLarge) {
		return &Error{
			Reason: crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, Metadata: metadata,
			Message: "the call needs more memory than one caller may use: send fewer or smaller items in a call, or raise --memory",
		}
	}
	return &Error{
		Reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED, Metadata: metadata,
		Message: "other calls use the memory that this one needs: retry later, send fewer or smaller items in a call, or raise --memory",
	}
}
