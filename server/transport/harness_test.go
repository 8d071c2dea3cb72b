package transport

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// patience is the longest wait of a test. Only a server that hangs exceeds it.
const patience = 5 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a service with one call, whose behaviour each test sets.
type echo struct {
	handle func(context.Context, *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error)
}

var echoService = grpc.ServiceDesc{
	ServiceName: "test.Echo",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Call",
		Handler: func(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.BytesValue)
			if err := decode(in); err != nil {
				return nil, err
			}
			info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/test.Echo/Call"}
			return intercept(ctx, in, info, func(ctx context.Context, req any) (any, error) {
				return srv.(*echo).handle(ctx, req.(*wrapperspb.BytesValue))
			})
		},
	}},
	Streams: []grpc.StreamDesc{{
		StreamName: "Stream", ServerStreams: true, ClientStreams: true,
		Handler: func(srv any, ss grpc.ServerStream) error {
			_, err := srv.(*echo).handle(ss.Context(), nil)
			return err
		},
	}},
}

func invoke(ctx context.Context, c *grpc.ClientConn, payload string) (string, error) {
	out := new(wrapperspb.BytesValue)
	err := c.Invoke(ctx, "/test.Echo/Call", wrapperspb.Bytes([]byte(payload)), out)
	return string(out.GetValue()), err
}

func stream(ctx context.Context, c *grpc.ClientConn) error {
	s, err := c.NewStream(ctx, &echoService.Streams[0], "/test.Echo/Stream")
	if err != nil {
		return err
	}
	if err = s.RecvMsg(new(wrapperspb.BytesValue)); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// serve starts a server on an address and returns how to stop it.
func serve(t *testing.T, o ServerOptions, e *echo, address string) (net.Addr, *grpc.Server) {
	t.Helper()
	l, err := Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(o)
	s.RegisterService(&echoService, e)
	healthpb.RegisterHealthServer(s, health.NewServer())
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr(), s
}

func dial(t *testing.T, target string, c credentials.TransportCredentials, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(target, append(options, grpc.WithTransportCredentials(c))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func same(_ context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
	return in, nil
}

// reasonOf returns the reason in a status' details.
func reasonOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == "crdeval.dev" {
			return info.GetReason()
		}
	}
	return ""
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
