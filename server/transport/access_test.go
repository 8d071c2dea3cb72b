package transport

import (
	"log/slog"
	"testing"

	"google.golang.org/grpc/codes"
)

// TestLevels: errors caused by callers are not logged at the default level.
func TestLevels(t *testing.T) {
	for code, want := range map[codes.Code]slog.Level{
		codes.OK: slog.LevelDebug, codes.InvalidArgument: slog.LevelDebug, codes.ResourceExhausted: slog.LevelDebug, codes.DeadlineExceeded: slog.LevelDebug, codes.Canceled: slog.LevelDebug,
		codes.Unavailable: slog.LevelWarn, codes.Internal: slog.LevelError, codes.Unknown: slog.LevelError, codes.DataLoss: slog.LevelError,
	} {
		if got := levelOf(code); got != want {
			t.Errorf("%v: %v, want %v", code, got, want)
		}
	}
}
