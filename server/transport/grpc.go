package transport

import (
	"context"
	"log/slog"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/auth"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/selector"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats"

	"github.com/crdeval/crdeval/server/inprocess"
)

// DefaultMaxMessageBytes bounds one message, either way: 64 MiB. gRPC's own default is 4 MiB for what is received.
const DefaultMaxMessageBytes = 64 << 20

// streamWindow is the flow-control window of a stream and a connection: large enough for a batch of some hundred objects to arrive without
// a pause for acknowledgement.
const streamWindow = 4 << 20

// ServerOptions configure NewServer. The zero value is an open server without TLS.
type ServerOptions struct {
	TLS             *TLS             // nil: none
	Gate            *Gate            // nil: everybody comes in
	MaxMessageBytes int              // 0: DefaultMaxMessageBytes
	Stats           stats.Handler    // telemetry; nil: none
	Log             *slog.Logger     // nil: slog.Default()
	Codec           encoding.CodecV2 // nil: gRPC's own
}

// withDefaults returns the options with every default filled in.
func (o ServerOptions) withDefaults() ServerOptions {
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = DefaultMaxMessageBytes
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Gate == nil {
		o.Gate = NewGate(GateOptions{})
	}
	return o
}

// interceptors returns what every call passes, outermost first.
func (o ServerOptions) interceptors() (unary []grpc.UnaryServerInterceptor, stream []grpc.StreamServerInterceptor) {
	access, admitted, panics := accessLog{o.Log}, o.Gate.admission, onPanic(o.Log)
	unary = []grpc.UnaryServerInterceptor{arrivedUnary, access.unary, recovery.UnaryServerInterceptor(panics)}
	stream = []grpc.StreamServerInterceptor{arrivedStream, access.stream, recovery.StreamServerInterceptor(panics)}
	if tokens := o.Gate.tokens; tokens != nil {
		guarded := selector.MatchFunc(func(_ context.Context, c interceptors.CallMeta) bool { return !isProbe(c.FullMethod()) })
		unary = append(unary, selector.UnaryServerInterceptor(auth.UnaryServerInterceptor(tokens.authenticate), guarded))
		stream = append(stream, selector.StreamServerInterceptor(auth.StreamServerInterceptor(tokens.authenticate), guarded))
	}
	return append(unary, admitted.unary), append(stream, admitted.stream)
}

// NewInProcess returns a connection without services whose calls pass the same interceptors as those of NewServer.
func NewInProcess(o ServerOptions) *inprocess.Conn {
	o = o.withDefaults()
	unary, stream := o.interceptors()
	return inprocess.New(inprocess.Options{Unary: unary, Stream: stream, Stats: o.Stats, MaxMessageBytes: o.MaxMessageBytes})
}

// NewServer returns a gRPC server without services.
func NewServer(o ServerOptions) *grpc.Server {
	o = o.withDefaults()
	o.Gate.arrivals.upTo(o.MaxMessageBytes)
	unary, stream := o.interceptors()
	options := []grpc.ServerOption{
		grpc.Creds(Credentials(o.TLS)),
		grpc.MaxRecvMsgSize(o.MaxMessageBytes),
		grpc.MaxSendMsgSize(o.MaxMessageBytes),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(streamWindow),
		grpc.InTapHandle(o.Gate.tap(accessLog{o.Log})),
		grpc.ChainUnaryInterceptor(unary...),
		grpc.ChainStreamInterceptor(stream...),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if o.Codec != nil {
		options = append(options, grpc.ForceServerCodecV2(o.Codec))
	}
	if o.Stats != nil {
		options = append(options, grpc.StatsHandler(o.Stats))
	}
	return grpc.NewServer(options...)
}

// cutTime is how long Drain waits for handlers whose calls it has cut off: enough for those that heed their context.
const cutTime = time.Second

// Drain stops a server: no new calls, those in flight end; when ctx ends first, they are cut off. It says whether all ended by themselves.
// Handlers that go on although their calls are cut off are left behind: they must not keep a process alive.
func Drain(ctx context.Context, s *grpc.Server) (graceful bool) {
	done := make(chan struct{})
	go func() {
		s.GracefulStop() // waits for handlers, whatever Stop does
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
	case <-time.After(cutTime):
	}
	return false
}
