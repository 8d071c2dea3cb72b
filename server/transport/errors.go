package transport

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errorDomain is the domain of the service's google.rpc.ErrorInfo.
const errorDomain = "crdeval.dev"

// statusError returns a status with an ErrorInfo. reason is a crdeval.v1.ErrorReason without its prefix.
func statusError(code codes.Code, reason, message string, metadata map[string]string) error {
	s := status.New(code, message)
	if detailed, err := s.WithDetails(&errdetails.ErrorInfo{Domain: errorDomain, Reason: reason,
		Metadata: metadata}); err == nil {
		s = detailed
	}
	return s.Err()
}

// isProbe reports whether a call is a health probe. Probes need neither a token nor a slot: a busy server is healthy.
func isProbe(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// onPanic turns a panic of a handler into an error of the call. Only the log has the stack.
func onPanic(log *slog.Logger) recovery.Option {
	return recovery.WithRecoveryHandlerContext(func(ctx context.Context, p any) error {
		log.ErrorContext(ctx, "a call panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		return statusError(codes.Internal, "INTERNAL",
			"internal error: the log of the server has the details; please report it", nil)
	})
}
