package transport

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc/codes"
)

// onPanic makes a handler's panic that call's error. The stack goes to the log and not to the caller.
func onPanic(log *slog.Logger) recovery.Option {
	return recovery.WithRecoveryHandlerContext(func(ctx context.Context, p any) error {
		log.ErrorContext(ctx, "a call panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		return refusal(codes.Internal, "INTERNAL", "crdeval failed at this call; its log has the details. Please report it.", nil)
	})
}
