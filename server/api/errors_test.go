package api

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
