package metamorphic

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/flow"
	"github.com/crdeval/crdeval/server/gateway"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/transport"
	"github.com/crdeval/crdeval/server/transport/inprocess"
)

// server is crdeval's service with all of its transports. It serves one registry after the other, because starting
// listeners for each history would take longer than the history.
type server struct {
	stage     stage
	scheduler *flow.Scheduler
	inProcess *inprocess.Conn
	grpc      *grpc.Server
	clients   *grpc.ClientConn
	web       *http.Server
	rest      *restConn
}

// maxMessage is the limit of a message, of a server as of its clients.
const maxMessage = 64 << 20

// newServer starts a server. REST listens at a unix socket, gRPC in the process.
func newServer(ctx context.Context, socket string) (*server, error) {
	s := &server{scheduler: flow.New(flow.Options{})}
	limits := api.Limits{MaxMessageBytes: maxMessage}
	s.inProcess = transport.NewInProcess(transport.ServerOptions{MaxMessageBytes: maxMessage, Log: slog.New(slog.DiscardHandler)})
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.ForceServerCodecV2(api.Codec(limits)))
	api.Register(inprocess.Registrar{s.grpc, s.inProcess}, api.Options{
		Registry: &s.stage, Limits: limits, Scheduler: s.scheduler, Log: slog.New(slog.DiscardHandler),
	})
	calls := bufconn.Listen(1 << 20)
	go func() { _ = s.grpc.Serve(calls) }()
	var err error
	s.clients, err = grpc.NewClient("passthrough:///metamorphic", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return calls.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, err
	}
	handler, err := gateway.New(ctx, s.inProcess, gateway.Options{MaxBodyBytes: maxMessage})
	if err != nil {
		return nil, err
	}
	s.web = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	requests, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	go func() { _ = s.web.Serve(requests) }()
	s.rest = newRESTConn(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	})
	return s, nil
}

func (s *server) close() {
	_ = s.clients.Close()
	s.rest.close()
	s.grpc.Stop()
	_ = s.web.Close()
	s.inProcess.Stop()
}

// conn returns the connection of a transport.
func (s *server) conn(transport string) grpc.ClientConnInterface {
	switch transport {
	case transportGRPC:
		return s.clients
	case transportREST:
		return s.rest
	}
	return s.inProcess
}

// stage is the api.Registry of a server: the registry that it serves at the moment.
type stage struct {
	api.Registry
	paths admission.Paths
}

// View implements api.Registry.
func (s *stage) View(ctx context.Context, catalog, atLeast string) (registry.View, error) {
	v, err := s.Registry.View(ctx, catalog, atLeast)
	return s.choose(v), err
}

// ViewWith implements api.Registry.
func (s *stage) ViewWith(
	ctx context.Context, catalog, atLeast string, inline []engine.Document,
) (registry.View, error) {
	v, err := s.Registry.ViewWith(ctx, catalog, atLeast, inline)
	return s.choose(v), err
}

func (s *stage) choose(v registry.View) registry.View {
	if v == nil || s.paths == (admission.Paths{}) {
		return v
	}
	return &view{v, s.paths}
}

// view is a View whose definitions evaluate on chosen paths.
type view struct {
	registry.View
	paths admission.Paths
}

// Named implements registry.View.
func (v *view) Named(ctx context.Context, name, revision string) (*engine.Definition, error) {
	return v.choose(v.View.Named(ctx, name, revision))
}

// OfKind implements registry.View.
func (v *view) OfKind(ctx context.Context, group, kind, revision string) (*engine.Definition, error) {
	return v.choose(v.View.OfKind(ctx, group, kind, revision))
}

func (v *view) choose(d *engine.Definition, err error) (*engine.Definition, error) {
	if err != nil {
		return nil, err
	}
	copied := *d
	c := compiled.Of(&copied)
	inner := *c.Inner
	inner.Paths = v.paths
	c.Inner = &inner
	return &copied, nil
}

// installation is a registry with its store.
type installation struct {
	server   *server
	config   configuration
	contents contents
	now      func() time.Time

	store    registry.Store
	programs *cache.Cache[string, *engine.Definition]
	registry *registry.Registry
}

// open opens the store and lets the server serve it.
func (i *installation) open(ctx context.Context) (err error) {
	if i.store, err = i.contents.open(ctx); err != nil {
		return err
	}
	o := cache.Options[string, *engine.Definition]{
		MaxBytes: 256 << 20, Weigh: (*engine.Definition).Size, Run: i.server.scheduler.Do,
	}
	if i.config.OneEntry {
		o.MaxBytes, o.Weigh = 1, func(*engine.Definition) int64 { return 1 }
	}
	i.programs = cache.New(o)
	i.registry, err = registry.New(ctx, i.store, registry.Options{
		Programs: i.programs, Scheduler: i.server.scheduler, Now: i.now, Log: slog.New(slog.DiscardHandler),
	})
	i.server.stage = stage{i.registry, admission.Paths{Exact: i.config.Exact, NoClosures: i.config.NoClosures}}
	return err
}

// close closes the registry, and its store unless that is the one in memory, which would forget everything.
func (i *installation) close(ctx context.Context) error {
	err := errors.Join(i.registry.Close(ctx), i.programs.Close(ctx))
	if i.config.Store != "" {
		err = errors.Join(err, i.store.Close())
	}
	return err
}
