package transport

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/server/call"
)

// TestWatchUsesNoSlot: a watch needs a free slot to begin and does not keep it. Its end is not logged as a warning.
func TestWatchUsesNoSlot(t *testing.T) {
	var text bytes.Buffer
	log := accessLog{slog.New(slog.NewTextHandler(&text, nil)), &overloadLog{log: quiet()}}
	a := NewGate(GateOptions{Limiter: newLimiter(1), Log: quiet()})
	listen := &grpc.StreamServerInfo{FullMethod: "/test.Echo/Listen", IsServerStream: true}
	ended := status.Error(codes.Unavailable, "shutting down")
	inside := func(any, grpc.ServerStream) error {
		if a.inFlight() != 0 {
			t.Error("it uses a slot")
		}
		return ended
	}
	through := func(info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		c := &call.Call{}
		ctx := call.With(t.Context(), c)
		return log.stream(nil, anonymous{ctx: ctx}, info, func(srv any, ss grpc.ServerStream) error {
			if err := a.admit(ctx, 0); err != nil {
				return err
			}
			defer c.End()
			return releaseSlot(srv, ss, info, h)
		})
	}
	if err := through(listen, inside); err != ended { //nolint:errorlint // that very one
		t.Error(err)
	}
	if text.Len() > 0 {
		t.Errorf("logged: %s", &text)
	}
	both := &grpc.StreamServerInfo{FullMethod: "/test.Echo/Talk", IsServerStream: true, IsClientStream: true}
	err := through(both, func(any, grpc.ServerStream) error {
		if a.inFlight() != 1 {
			t.Error("a bidirectional stream uses no slot")
		}
		if err := through(listen, inside); reasonOf(err) != "OVERLOADED" {
			t.Errorf("without a free slot: %v", err)
		}
		return ended
	})
	if err != ended || text.Len() == 0 { //nolint:errorlint // that very one
		t.Errorf("%v, logged: %s", err, &text)
	}
}

// anonymous is a stream without a connection.
type anonymous struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // what a stream has
}

func (a anonymous) Context() context.Context { return a.ctx }
