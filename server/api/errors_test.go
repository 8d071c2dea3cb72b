package api

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// TestErrorOfStore checks that an error of the registry keeps its reason and metadata if it wraps a gRPC status of etcd.
func TestErrorOfStore(t *testing.T) {
	cause := fmt.Errorf("commit: %w", status.Error(codes.Unavailable, "error reading from server: EOF"))
	err := faults{rejected: func() {}}.call(t.Context(), &registry.Error{
		Reason: registry.StoreUnavailable, Err: cause, Message: "the store failed", Metadata: map[string]string{"outcome": "unknown"},
	})
	info := ErrorInfoOf(status.Convert(err).Proto())
	if status.Code(err) != codes.Unavailable || info.GetReason() != "STORE_UNAVAILABLE" || info.GetMetadata()["outcome"] != "unknown" {
		t.Errorf("%v, %v", err, info)
	}
	if err := (faults{}).call(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := (faults{}).call(t.Context(), status.Error(codes.NotFound, "x")); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
}

// TestRetryDelay checks that each OVERLOADED has a retry delay, and no other error.
func TestRetryDelay(t *testing.T) {
	for _, c := range []struct {
		err      *Error
		min, max time.Duration
	}{
		{overloaded("limit", 1, "text"), defaultRetryDelay / 2, defaultRetryDelay * 3 / 2},
		{shuttingDown("advice"), defaultRetryDelay / 2, defaultRetryDelay * 3 / 2},
		{&Error{Reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED, RetryDelay: 30 * time.Millisecond}, 30 * time.Millisecond, 30 * time.Millisecond},
		{LimitExceeded("limit", 1, "text"), 0, 0},
	} {
		st := c.err.GRPCStatus().Proto()
		delay, ok := RetryDelayOf(st)
		if ok != (c.max > 0) || delay < c.min || delay > c.max || ErrorInfoOf(st).GetReason() != c.err.reasonName() {
			t.Errorf("%v: retry delay %v, %v, want %v to %v", c.err.reasonName(), delay, ok, c.min, c.max)
		}
	}
}
