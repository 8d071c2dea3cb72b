// Package transport receives calls: listeners (TCP, unix sockets), TLS with files that may be rotated, the gRPC server
// with its interceptors, and the HTTP server. Of the API it knows the errors only.
//
// The headers of a call over gRPC pass taps: the guard authenticates the caller, and the gate reserves the slot. A REST
// request passes an Entry instead. Then come the interceptors, outermost first: telemetry, access log, memory,
// recovery, guard. So a panic is logged and counted as an error.
//
// A call holds its slot until its handler returns, and its memory until gRPC has written the response: account.go,
// connection.go and responses.go.
package transport

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"

	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport/inprocess"
)

// maxStreamsPerConnection bounds the streams of a connection. It exceeds the watches that one caller may have.
const maxStreamsPerConnection = 2000

// The flow-control windows. A client sends at most streamWindow of a message before its call is accepted. Then gRPC
// extends the window to the size of the message.
const (
	streamWindow     = 64 << 10
	connectionWindow = 4 << 20
)

// ServerOptions configure NewServer. The zero value accepts every call, without TLS.
type ServerOptions struct {
	TLS             *TLS             // nil: no TLS
	Guard           *Guard           // nil: permits every call
	Gate            *Gate            // nil: accepts every call
	MaxMessageBytes int              // 0: DefaultMaxMessageBytes
	Stats           stats.Handler    // telemetry; may be nil
	Log             *slog.Logger     // nil: slog.Default()
	Codec           encoding.CodecV2 // one of api.Codec; nil: that of the default limits
	Memory          *call.Memory     // of the calls; nil: unlimited

	MaxAuxiliaryStreams int // health watches and reflection streams; 0: unlimited
}

// withDefaults returns the options with every default filled in.
func (o ServerOptions) withDefaults() ServerOptions {
	o.MaxMessageBytes, o.Log = cmp.Or(o.MaxMessageBytes, DefaultMaxMessageBytes), cmp.Or(o.Log, slog.Default())
	if o.Guard == nil {
		o.Guard = NewGuard(&access.Control{}, nil)
	}
	if o.Gate == nil {
		o.Gate = NewGate(GateOptions{})
	}
	if o.Codec == nil {
		o.Codec = api.Codec(api.Limits{})
	}
	return o
}

func (o ServerOptions) accessLog() accessLog { return accessLog{o.Log, &o.Gate.overload} }

// interceptors returns the interceptors of every call, the outermost first.
func (o ServerOptions) interceptors() (unary []grpc.UnaryServerInterceptor, stream []grpc.StreamServerInterceptor) {
	access, account := o.accessLog(), accounts{memory: o.Memory, rejected: o.Gate.Rejected}
	panics := onPanic(o.Log)
	unary = []grpc.UnaryServerInterceptor{receivedUnary, access.unary, account.unary,
		recovery.UnaryServerInterceptor(panics), o.Guard.unary}
	bound := &auxiliary{max: int64(o.MaxAuxiliaryStreams), rejected: o.Gate.Rejected}
	stream = []grpc.StreamServerInterceptor{receivedStream, access.stream, bound.stream, account.stream,
		recovery.StreamServerInterceptor(panics), o.Guard.stream, releaseSlot}
	return unary, stream
}

// NewInProcess returns a connection without services for the REST gateway. An Entry has authenticated its calls, and
// has reserved their slots and opened their leases.
func NewInProcess(o ServerOptions) *inprocess.Conn {
	o = o.withDefaults()
	access, account := o.accessLog(), accounts{rejected: o.Gate.Rejected, max: o.MaxMessageBytes}
	panics := onPanic(o.Log)
	return inprocess.New(inprocess.Options{
		Stats:  o.Stats,
		Unary:  []grpc.UnaryServerInterceptor{access.unary, account.inner, recovery.UnaryServerInterceptor(panics), o.Guard.unary},
		Stream: []grpc.StreamServerInterceptor{access.stream, recovery.StreamServerInterceptor(panics), o.Guard.stream, releaseSlot},
	})
}

// NewServer returns a gRPC server without services.
func NewServer(o ServerOptions) *grpc.Server {
	o = o.withDefaults()
	o.Gate.incoming.timeout = MessageTimeout + time.Duration(o.MaxMessageBytes/BytesPerSecond)*time.Second
	unary, stream := o.interceptors()
	options := []grpc.ServerOption{
		grpc.Creds(credentialsOf(o.TLS)),
		grpc.MaxRecvMsgSize(o.MaxMessageBytes),
		grpc.MaxSendMsgSize(o.MaxMessageBytes),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connectionWindow),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxStreamsPerConnection),
		grpc.StatsHandler(connStats{}),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.RPCDecompressor(noGzip{}), //nolint:staticcheck // an encoding.Compressor would also be that of this process's clients
		grpc.ForceServerCodecV2(accountingCodec{o.Codec}),
		grpc.InTapHandle(o.Guard.tap(o.accessLog(), o.Gate.tap(o.accessLog()))),
		grpc.ChainUnaryInterceptor(unary...),
		grpc.ChainStreamInterceptor(append([]grpc.StreamServerInterceptor{api.DecodeStream}, stream...)...),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if o.Stats != nil {
		options = append(options, grpc.StatsHandler(o.Stats))
	}
	return grpc.NewServer(options...)
}

// streamWorkers is the number of goroutines that serve calls, one after the other. Further calls in flight get goroutines
// of their own, whose stacks have to grow: that costs about a tenth of the time of a small call.
const streamWorkers = 64

// noGzip rejects compressed messages: a message of 31 KiB could become 31 MiB before its memory is accounted for. The
// exporter of traces registers gzip in this process.
type noGzip struct{}

// Do implements grpc.Decompressor.
func (noGzip) Do(io.Reader) ([]byte, error) {
	return nil, errors.New("the server does not accept compressed messages: send them without compression")
}

// Type implements grpc.Decompressor.
func (noGzip) Type() string { return gzip.Name }

// abortTimeout is how long Drain waits for the handlers of aborted calls.
const abortTimeout = time.Second

// Drain stops a server after the calls in flight have ended. When ctx ends, it aborts them. It returns whether all
// calls ended by themselves. It does not wait for handlers that ignore the end of their context.
func Drain(ctx context.Context, s *grpc.Server) (graceful bool) {
	done := make(chan struct{})
	go func() {
		s.GracefulStop() // waits for handlers even after Stop
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	s.Stop()
	select {
	case <-done:
	case <-time.After(abortTimeout):
	}
	return false
}

// gRPC allocates messages from a pool and clears them each time. Its default pool has five sizes, the largest being
// 32 KiB and 1 MiB, so a batch of 40 KiB clears 1 MiB several times. This pool has every power of two from 256 bytes to
// 4 MiB. gRPC has one pool for all clients and servers of a process, and requires it to be set during initialization.
func init() {
	var sizes []uint8
	for exponent := uint8(8); exponent <= 22; exponent++ {
		sizes = append(sizes, exponent)
	}
	pool, err := mem.NewBinaryTieredBufferPool(sizes...)
	if err != nil {
		panic(err) // cannot happen: the exponents are small
	}
	experimental.SetDefaultBufferPool(pool)
}
