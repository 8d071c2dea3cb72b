package transport

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// memoryBuffer is what one direction of an in-memory connection holds before its writer waits.
const memoryBuffer = 1 << 20

// Loopback is a listener in memory with a client connection to it: for the REST gateway, whose calls so pass every interceptor that
// other callers' do, without a port.
type Loopback struct{ listener *bufconn.Listener }

// NewLoopback returns a Loopback that nobody serves yet.
func NewLoopback() Loopback { return Loopback{bufconn.Listen(memoryBuffer)} }

// Listener is for a gRPC server to serve.
func (l Loopback) Listener() net.Listener { return l.listener }

// Dial returns a connection to that server; it connects with the first call.
func (l Loopback) Dial(maxMessageBytes int) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///loopback",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(streamWindow),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
	)
}
