package gateway

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// memoryBuffer is how many bytes of each direction of an in-memory connection wait to be read.
const memoryBuffer = 1 << 20

// Listen returns a listener in memory, for the gRPC server to serve beside its sockets.
func Listen() *bufconn.Listener { return bufconn.Listen(memoryBuffer) }

// Connect returns a client connection to the gRPC server that serves l, for messages of at most maxMessageBytes either way.
// Options add to it, such as a stats handler. Close it before the server stops.
func Connect(l *bufconn.Listener, maxMessageBytes int, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	// Windows and buffers are as large as memory allows where nothing is ever lost or slow.
	const window = 8 << 20
	conn, err := grpc.NewClient("passthrough:///memory", append([]grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(window),
		grpc.WithReadBufferSize(256 << 10),
		grpc.WithWriteBufferSize(256 << 10),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return conn, nil
}
