package transport

import (
	"context"
	"crypto/x509"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/call"
)

// authorization is the header with the credentials of a caller.
const authorization = "authorization"

// Guard authenticates and authorizes calls. It authenticates a call by its headers, before its message is read, and
// authorizes it when the message with the catalog has been read. It checks open streams again after each reload of the
// access files.
type Guard struct {
	access *access.Control
	denied func(context.Context, Denial)
}

// Denial is a call that was not authenticated or not permitted.
type Denial struct {
	Method  string // the full method of gRPC, the label of Entry.Run, or the method and path of HTTP
	Catalog string // "" if the call was rejected before its message was read
	Err     error
}

// NewGuard returns a guard. denied is called for each denied call; it may be nil. Its context has the identity of the
// caller. If the caller is not authenticated, it has the identity in the client certificate, if the caller has one.
func NewGuard(c *access.Control, denied func(context.Context, Denial)) *Guard {
	if denied == nil {
		denied = func(context.Context, Denial) {}
	}
	return &Guard{access: c, denied: denied}
}

// DenyRequest reports an HTTP request that is denied, and returns the status of the error.
func (g *Guard) DenyRequest(r *http.Request, err error) error {
	return g.deny(r.Context(), Denial{Method: r.Method + " " + r.URL.Path, Err: err})
}

// authenticate notes the credentials and the identity of a caller in its call.
func (g *Guard) authenticate(ctx context.Context, authorization []string) (err error) {
	c := call.Of(ctx)
	c.Credentials = access.Credentials{Authorization: authorization, Certificate: certificateOf(ctx)}
	c.Identity, err = g.access.Authenticate(c.Credentials)
	return err
}

// deny reports a denial and returns its status.
func (g *Guard) deny(ctx context.Context, d Denial) error {
	if of := *call.Of(ctx); of.Identity.Name == "" {
		if certificate := certificateOf(ctx); certificate != nil {
			of.Identity = access.CertificateIdentity(certificate)
			ctx = call.With(ctx, &of)
		}
	}
	g.denied(ctx, d)
	return accessStatus(d.Err)
}

func accessStatus(err error) error {
	e, ok := access.AsError(err)
	switch {
	case !ok:
		return err
	case e.Unauthenticated:
		return statusError(crdevalv1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, e.Message, e.Metadata)
	}
	return statusError(crdevalv1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, e.Message, e.Metadata)
}

// certificateOf returns the verified client certificate of a connection, or nil.
func certificateOf(ctx context.Context) *x509.Certificate {
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.VerifiedChains) > 0 {
			return info.State.VerifiedChains[0][0]
		}
	}
	return nil
}

// tap begins a call, and authenticates it by its headers.
func (g *Guard) tap(log accessLog, next tap.ServerInHandle) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		c := &call.Call{Method: info.FullMethodName}
		if id := info.Header[requestID]; len(id) > 0 {
			c.RequestID = boundedID(id[0])
		}
		ctx = call.With(ctx, c)
		if isProbe(c.Method) {
			return next(ctx, info)
		}
		if err := g.authenticate(ctx, info.Header[authorization]); err != nil {
			err = g.deny(ctx, Denial{Method: c.Method, Err: err})
			log.record(ctx, c.Method, time.Now(), err)
			return nil, err
		}
		return next(ctx, info)
	}
}

// authorize notes the catalog of a request in its call. It returns an error if the caller may not make the call.
func (g *Guard) authorize(ctx context.Context, method string, request any) error {
	if isProbe(method) {
		return nil
	}
	c := call.Of(ctx)
	catalog, _ := crdevalv1.CatalogOf(request)
	c.SetCatalog(catalog)
	if err := g.access.Authorize(c.Identity, method, c.Catalog); err != nil {
		return g.deny(ctx, Denial{Method: method, Catalog: c.Catalog, Err: err})
	}
	return nil
}

// permit notes the catalog of a call that is not one of gRPC. It returns an error if the caller lacks the permission.
func (g *Guard) permit(ctx context.Context, label string, required access.Permission, catalog string) error {
	c := call.Of(ctx)
	c.SetCatalog(catalog)
	if err := g.access.Permit(c.Identity, path.Base(label), required, catalog); err != nil {
		return g.deny(ctx, Denial{Method: label, Catalog: catalog, Err: err})
	}
	return nil
}

func (g *Guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := g.authorize(ctx, info.FullMethod, req); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// stream authorizes a stream when it receives the first message, which has the catalog. It ends the stream when the
// caller loses the permission.
func (g *Guard) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if isProbe(info.FullMethod) {
		return handler(srv, ss)
	}
	ctx, cancel := context.WithCancelCause(ss.Context())
	defer cancel(nil)
	s := &guardedStream{ServerStream: ss, guard: g, ctx: ctx, cancel: cancel, method: info.FullMethod}
	defer s.end()
	err := handler(srv, s)
	if lost, ok := access.AsError(context.Cause(ctx)); ok {
		return accessStatus(lost)
	}
	return err
}

// guardedStream is a stream that ends when its caller loses the permission.
type guardedStream struct {
	grpc.ServerStream
	guard   *Guard
	ctx     context.Context //nolint:containedctx // a grpc.ServerStream has one
	cancel  context.CancelCauseFunc
	method  string
	catalog *string // nil until the first message

	mu      sync.Mutex // the first message may arrive on another goroutine, and when the handler has returned
	release func()     // nil until the first message
	ended   bool
}

// Context implements grpc.ServerStream.
func (s *guardedStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream.
func (s *guardedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if s.catalog != nil {
		return context.Cause(s.ctx)
	}
	if err := s.guard.authorize(s.ctx, s.method, m); err != nil {
		return err
	}
	s.catalog = &call.Of(s.ctx).Catalog
	s.hold()
	return nil
}

// hold makes check run after changes of the access rules, until the stream ends.
func (s *guardedStream) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.release = s.guard.access.Hold(s.check)
	}
}

// check ends the stream if its caller is not authenticated or authorized any more.
func (s *guardedStream) check() {
	id, err := s.guard.access.Authenticate(call.Of(s.ctx).Credentials)
	if err == nil {
		err = s.guard.access.Authorize(id, s.method, *s.catalog)
	}
	if err != nil && s.ctx.Err() == nil {
		s.guard.denied(s.ctx, Denial{Method: s.method, Catalog: *s.catalog, Err: err})
		s.cancel(err)
	}
}

func (s *guardedStream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.release != nil {
		s.release()
	}
}

// caller returns the name by which limits distinguish callers: the name of the identity, or else the address of the
// connection.
func (g *Gate) caller(ctx context.Context) string {
	if id := call.Of(ctx).Identity; id.Name != "" && (g.Authenticated || !id.IsAnonymous()) {
		return "user:" + id.Name
	}
	p, _ := peer.FromContext(ctx)
	if p == nil || p.Addr == nil {
		return ""
	}
	if a, ok := p.Addr.(connAddr); ok {
		return a.caller
	}
	return call.ConnectionPrefix + p.Addr.String()
}

// isProbe reports whether a call is a health probe. Probes need neither credentials nor a slot, so that a busy server
// stays healthy.
func isProbe(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }
