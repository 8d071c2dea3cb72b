package transport

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestInterceptors(t *testing.T) {
	var logged bytes.Buffer
	e := &echo{handle: same}
	addr, _ := serve(t, ServerOptions{MaxMessageBytes: 1000, Log: slog.New(slog.NewTextHandler(&logged, nil))}, e, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	if got, err := invoke(t.Context(), c, "hello"); got != "hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := invoke(t.Context(), c, strings.Repeat("x", 1001)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("too large a request: %v", err)
	}
	e.handle = func(context.Context, *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
		return wrapperspb.Bytes(make([]byte, 1001)), nil
	}
	if _, err := invoke(t.Context(), c, ""); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("too large a response: %v", err)
	}
	e.handle = func(context.Context, *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) { panic("secret ouch") }
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "r17")
	for name, err := range map[string]error{"unary": func() error { _, err := invoke(ctx, c, ""); return err }(), "stream": stream(ctx, c)} {
		if status.Code(err) != codes.Internal || reasonOf(err) != "INTERNAL" || strings.Contains(err.Error(), "ouch") {
			t.Errorf("%s: a panic became %v", name, err)
		}
	}
	if n := strings.Count(logged.String(), "request_id=r17"); n != 2 {
		t.Errorf("the access log has %d calls by their names:\n%s", n, &logged)
	}
	if n := strings.Count(logged.String(), "secret ouch"); n != 2 || !strings.Contains(logged.String(), "grpc_test.go") {
		t.Errorf("the log has %d panics:\n%s", n, &logged)
	}
}

// TestCompressed checks that compressed messages are rejected before they are decompressed.
func TestCompressed(t *testing.T) {
	addr, _ := serve(t, ServerOptions{}, &echo{handle: same}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials(), grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	if got, err := invoke(t.Context(), c, strings.Repeat("x", 1000)); err == nil || !strings.Contains(err.Error(), "without compression") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestDrain(t *testing.T) {
	for _, tc := range []struct {
		name     string
		takes    time.Duration
		grace    time.Duration
		graceful bool
	}{
		{"in time", 100 * time.Millisecond, patience, true},
		{"too late", patience, 100 * time.Millisecond, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			entered := make(chan struct{})
			e := &echo{handle: func(ctx context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
				close(entered)
				select {
				case <-time.After(tc.takes):
					return in, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}}
			addr, s := serve(t, ServerOptions{Log: quiet()}, e, "localhost:0")
			c := dial(t, addr.String(), insecure.NewCredentials())
			result := make(chan error, 1)
			go func() { _, err := invoke(t.Context(), c, ""); result <- err }()
			<-entered
			ctx, cancel := context.WithTimeout(t.Context(), tc.grace)
			defer cancel()
			if got := Drain(ctx, s); got != tc.graceful {
				t.Errorf("graceful: %t", got)
			}
			if err := <-result; (err == nil) != tc.graceful {
				t.Errorf("the call ended with %v", err)
			}
		})
	}
}

// TestDrainLeavesHandlersBehind: a handler that ignores its context does not delay Drain.
func TestDrainLeavesHandlersBehind(t *testing.T) {
	entered, end := make(chan struct{}), make(chan struct{})
	e := &echo{handle: func(_ context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
		close(entered)
		<-end
		return in, nil
	}}
	addr, s := serve(t, ServerOptions{Log: quiet()}, e, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	result := make(chan error, 1)
	go func() { _, err := invoke(t.Context(), c, ""); result <- err }()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	drained := make(chan bool, 1)
	go func() { drained <- Drain(ctx, s) }()
	select {
	case graceful := <-drained:
		if graceful {
			t.Error("the aborted drain is reported as graceful")
		}
	case <-time.After(patience):
		t.Error("the handler delays the drain")
	}
	close(end)
	if err := <-result; err == nil {
		t.Error("the call was not aborted")
	}
}
