package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/grpclog"
)

// TestGRPCLog: what gRPC and grpc-gateway log goes to the server's log.
func TestGRPCLog(t *testing.T) {
	var out bytes.Buffer
	before := grpcLogger.Swap(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer grpcLogger.Store(before)
	grpclog.Errorf("Failed to parse: %s", "x")
	if got := out.String(); !strings.Contains(got, `msg=grpc severity=ERROR text="Failed to parse: x"`) {
		t.Error(got)
	}
}
