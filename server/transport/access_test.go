package transport

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
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

// TestRequestIDsAreBounded: a caller cannot fill the log with its request ID.
func TestRequestIDsAreBounded(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	addr, _ := serve(t, ServerOptions{Log: log}, &echo{handle: same}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	for _, id := range []string{strings.Repeat("a", 128), strings.Repeat("b", 129)} {
		if _, err := invoke(metadata.AppendToOutgoingContext(t.Context(), "x-request-id", id), c, ""); err != nil {
			t.Fatal(err)
		}
	}
	ids := regexp.MustCompile(`request_id=(\S+)`).FindAllStringSubmatch(logged.String(), -1)
	if len(ids) != 2 || ids[0][1] != strings.Repeat("a", 128) || strings.HasPrefix(ids[1][1], "b") || len(ids[1][1]) > 128 {
		t.Errorf("%v in the log:\n%s", ids, &logged)
	}
}

// TestOverloadsAreSummed: calls that are rejected because of load are logged together, whatever part of the server has
// rejected them.
func TestOverloadsAreSummed(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	access := accessLog{log, &overloadLog{log: log}}
	fromAPI := api.MemoryError(call.ErrNoMemory)
	for _, err := range []error{errMemoryShort(), fromAPI, fmt.Errorf("wrapped: %w", fromAPI)} {
		for range 1000 {
			access.record(t.Context(), "/test.Echo/Call", time.Now(), err)
			_ = access.stream(nil, anonymous{ctx: t.Context()}, &grpc.StreamServerInfo{IsServerStream: true, IsClientStream: true},
				func(any, grpc.ServerStream) error { return err })
		}
	}
	if n := access.overload.calls.Load(); n != 5999 || strings.Count(logged.String(), "\n") != 1 {
		t.Errorf("%d calls are not logged yet, in the log:\n%.1000s", n, &logged)
	}
	logged.Reset()
	access.record(t.Context(), "/test.Echo/Call", time.Now(), status.Error(codes.Unavailable, "the store is gone"))
	if !strings.Contains(logged.String(), "level=WARN") {
		t.Errorf("logged: %s", &logged)
	}
}
