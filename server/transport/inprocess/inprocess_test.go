package inprocess

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service records what reaches the handlers.
type service struct {
	crdevalv1.UnimplementedEvaluationServiceServer
	crdevalv1.UnimplementedRegistryServiceServer
	ctx     context.Context //nolint:containedctx // of the last call
	object  []byte
	err     error
	entered chan struct{}
}

func (s *service) Validate(ctx context.Context, r *crdevalv1.ValidateRequest) (*crdevalv1.ValidateResponse, error) {
	s.ctx, s.object = ctx, r.GetItems()[0].GetCreate().GetObject().GetJson()
	return &crdevalv1.ValidateResponse{Results: []*crdevalv1.VerdictResult{{}, {}}}, s.err
}

func (s *service) ReadStream(g grpc.BidiStreamingServer[crdevalv1.ReadStreamRequest, crdevalv1.ReadStreamResponse]) error {
	s.ctx = g.Context()
	if s.err != nil {
		return s.err
	}
	if err := g.SendHeader(nil); err != nil {
		return err
	}
	for n := int64(0); ; n++ {
		if _, err := g.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := g.Send(&crdevalv1.ReadStreamResponse{FirstIndex: n}); err != nil {
			return err
		}
	}
}

func (s *service) WatchCrds(_ *crdevalv1.WatchCrdsRequest, g grpc.ServerStreamingServer[crdevalv1.WatchCrdsResponse]) error {
	close(s.entered)
	<-g.Context().Done()
	return status.FromContextError(g.Context().Err()).Err()
}

// recorder is a stats.Handler that notes what it is given.
type recorder struct{ seen []string }

func (r *recorder) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	r.seen = append(r.seen, "tag "+info.FullMethodName)
	return ctx
}

func (r *recorder) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.Begin:
		r.seen = append(r.seen, "begin")
	case *stats.End:
		r.seen = append(r.seen, "end "+status.Code(s.Error).String())
	}
}

func (r *recorder) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (r *recorder) HandleConn(context.Context, stats.ConnStats)                       {}

func start(t *testing.T, o Options) (*service, *Conn) {
	t.Helper()
	s, c := &service{entered: make(chan struct{})}, New(o)
	crdevalv1.RegisterEvaluationServiceServer(c, s)
	crdevalv1.RegisterRegistryServiceServer(c, s)
	t.Cleanup(c.Stop)
	return s, c
}

func request(object []byte) *crdevalv1.ValidateRequest {
	return &crdevalv1.ValidateRequest{Items: []*crdevalv1.WriteItem{
		{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: object}}}}},
	}}
}

// TestUnary checks what a handler gets of a call, and that documents are not copied.
func TestUnary(t *testing.T) {
	var order []string
	note := func(name string) grpc.UnaryServerInterceptor {
		return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			order = append(order, name+" "+info.FullMethod)
			return h(ctx, r)
		}
	}
	r := &recorder{}
	s, c := start(t, Options{Unary: []grpc.UnaryServerInterceptor{note("a"), note("b")}, Stats: r})
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("x-request-id", "me"))
	object := []byte(`{}`)
	answer, err := crdevalv1.NewEvaluationServiceClient(c).Validate(ctx, request(object))
	if err != nil || len(answer.GetResults()) != 2 {
		t.Fatalf("%v, %v", answer, err)
	}
	const method = crdevalv1.EvaluationService_Validate_FullMethodName
	if got := strings.Join(order, ", "); got != "a "+method+", b "+method {
		t.Errorf("interceptors: %s", got)
	}
	if got := strings.Join(r.seen, ", "); got != "tag "+method+", begin, end OK" {
		t.Errorf("stats: %s", got)
	}
	if &s.object[0] != &object[0] {
		t.Error("the document was copied")
	}
	if md, _ := metadata.FromIncomingContext(s.ctx); len(md) > 0 {
		t.Errorf("metadata of the handler: %v", md)
	}
	if md, _ := metadata.FromOutgoingContext(s.ctx); len(md) > 0 {
		t.Errorf("outgoing metadata of the handler: %v", md)
	}
	if s.ctx.Err() == nil {
		t.Error("the context of the call has not ended with it")
	}
}

// TestUnaryErrors checks that errors are statuses, as over a connection.
func TestUnaryErrors(t *testing.T) {
	s, c := start(t, Options{})
	client := crdevalv1.NewEvaluationServiceClient(c)
	for _, e := range []struct {
		err  error
		want codes.Code
	}{
		{status.Error(codes.NotFound, "x"), codes.NotFound},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{errors.New("x"), codes.Unknown},
		{nil, codes.OK},
	} {
		s.err = e.err
		if _, err := client.Validate(t.Context(), request([]byte(`{}`))); status.Code(err) != e.want {
			t.Errorf("%v: %v, want %v", e.err, err, e.want)
		}
	}
	if _, err := client.Admit(t.Context(), &crdevalv1.AdmitRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that the service does not implement: %v", err)
	}
	if _, err := crdevalv1.NewServerServiceClient(c).GetServerInfo(t.Context(), nil); status.Code(err) != codes.Unimplemented {
		t.Errorf("a service that is not registered: %v", err)
	}
}

// TestStream checks a stream from its header to its end.
func TestStream(t *testing.T) {
	intercepted := ""
	s, c := start(t, Options{Stream: []grpc.StreamServerInterceptor{
		func(srv any, g grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			intercepted = info.FullMethod
			return h(srv, g)
		},
	}})
	g, err := crdevalv1.NewEvaluationServiceClient(c).ReadStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if header, err := g.Header(); err != nil || header == nil {
		t.Errorf("header: %v, %v", header, err)
	}
	for n := range int64(10) {
		if err := g.Send(&crdevalv1.ReadStreamRequest{}); err != nil {
			t.Fatal(err)
		}
		if m, err := g.Recv(); err != nil || m.GetFirstIndex() != n {
			t.Fatalf("%v, %v", m, err)
		}
	}
	if err := g.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if m, err := g.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, %v", m, err)
	}
	if intercepted != crdevalv1.EvaluationService_ReadStream_FullMethodName {
		t.Errorf("intercepted: %q", intercepted)
	}
	if s.ctx.Err() == nil {
		t.Error("the context of the call has not ended with it")
	}
}

// TestStreamErrors checks a stream that the handler ends, one whose caller gives up, and one that Stop ends.
func TestStreamErrors(t *testing.T) {
	s, c := start(t, Options{})
	s.err = status.Error(codes.NotFound, "x")
	g, err := crdevalv1.NewEvaluationServiceClient(c).ReadStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if header, err := g.Header(); header != nil || err != nil {
		t.Errorf("header: %v, %v", header, err)
	}
	for err = nil; err == nil; {
		err = g.Send(&crdevalv1.ReadStreamRequest{})
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("sending: %v", err)
	}
	if _, err := g.Recv(); status.Code(err) != codes.NotFound {
		t.Errorf("receiving: %v", err)
	}
	client := crdevalv1.NewRegistryServiceClient(c)
	for _, end := range []string{"cancel", "stop"} {
		s.entered = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		w, err := client.WatchCrds(ctx, &crdevalv1.WatchCrdsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		<-s.entered
		if end == "cancel" {
			cancel()
		} else {
			c.Stop()
		}
		if _, err := w.Recv(); status.Code(err) != codes.Canceled {
			t.Errorf("%s: %v", end, err)
		}
		cancel()
	}
}
