package transport

import (
	"context"
	"crypto/x509"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/access"
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
	Method  string // the full method of gRPC, or the method and path of HTTP
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

// AuthenticateRequest authenticates an HTTP request before its body is read. It returns the context of the request with
// the identity of the caller, or a status.
func (g *Guard) AuthenticateRequest(r *http.Request) (context.Context, error) {
	return g.authenticate(withRequestID(r), r.Method+" "+r.URL.Path, r.Header.Values(authorization))
}

// DenyRequest reports an HTTP request that is denied, and returns the status of the error.
func (g *Guard) DenyRequest(r *http.Request, err error) error {
	return g.deny(withRequestID(r), Denial{Method: r.Method + " " + r.URL.Path, Err: err})
}

func withRequestID(r *http.Request) context.Context {
	return metadata.NewIncomingContext(r.Context(), metadata.Pairs(requestID, r.Header.Get(requestID)))
}

// authenticate returns a context with the identity of the caller. The error is a status.
func (g *Guard) authenticate(ctx context.Context, method string, authorization []string) (context.Context, error) {
	id, err := g.access.Authenticate(credentialsFrom(ctx, authorization))
	if err != nil {
		return nil, g.deny(ctx, Denial{Method: method, Err: err})
	}
	return access.NewContext(ctx, id), nil
}

// deny reports a denial and returns its status.
func (g *Guard) deny(ctx context.Context, d Denial) error {
	if _, known := access.FromContext(ctx); !known {
		if certificate := certificateOf(ctx); certificate != nil {
			ctx = access.NewContext(ctx, access.CertificateIdentity(certificate))
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

// credentialsFrom returns what the caller of ctx presents.
func credentialsFrom(ctx context.Context, authorization []string) access.Credentials {
	return access.Credentials{Authorization: authorization, Certificate: certificateOf(ctx)}
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

// tap authenticates a call by its headers.
func (g *Guard) tap(log accessLog, next tap.ServerInHandle) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if isProbe(info.FullMethodName) {
			return next(ctx, info)
		}
		identified, err := g.authenticate(metadata.NewIncomingContext(ctx, info.Header), info.FullMethodName, info.Header[authorization])
		if err != nil {
			log.record(ctx, info.FullMethodName, time.Now(), err)
			return nil, err
		}
		return next(identified, info)
	}
}

// identify returns a context with the identity of the caller, for calls that have not passed tap.
func (g *Guard) identify(ctx context.Context, method string) (context.Context, error) {
	if _, known := access.FromContext(ctx); known || isProbe(method) {
		return ctx, nil
	}
	return g.authenticate(ctx, method, metadata.ValueFromIncomingContext(ctx, authorization))
}

// authorize returns an error if the caller of ctx may not make a call. The catalog is that of request, if it has one.
func (g *Guard) authorize(ctx context.Context, method string, request any) error {
	if isProbe(method) {
		return nil
	}
	id, _ := access.FromContext(ctx)
	catalog := crdevalv1.CatalogOf(request)
	if err := g.access.Authorize(id, method, catalog); err != nil {
		return g.deny(ctx, Denial{Method: method, Catalog: catalog, Err: err})
	}
	return nil
}

func (g *Guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, err := g.identify(ctx, info.FullMethod)
	if err == nil {
		err = g.authorize(ctx, info.FullMethod, req)
	}
	if err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// stream authorizes a stream when it receives the first message, which has the catalog. It ends the stream when the
// caller loses the permission.
func (g *Guard) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, err := g.identify(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	if isProbe(info.FullMethod) {
		return handler(srv, ss)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &guardedStream{ServerStream: ss, guard: g, ctx: ctx, cancel: cancel, method: info.FullMethod}
	defer s.end()
	err = handler(srv, s)
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
	catalog := crdevalv1.CatalogOf(m)
	s.catalog = &catalog
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
	id, err := s.guard.access.Authenticate(credentialsFrom(s.ctx, metadata.ValueFromIncomingContext(s.ctx, authorization)))
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

// Caller returns the name by which limits distinguish callers: the name of the identity, or else the address of the
// connection.
func (g *Gate) Caller(ctx context.Context) string {
	if id, ok := access.FromContext(ctx); ok && (g.Authenticated || !id.IsAnonymous()) {
		return "user:" + id.Name
	}
	p, _ := peer.FromContext(ctx)
	if p == nil || p.Addr == nil {
		return ""
	}
	if a, ok := p.Addr.(connAddr); ok {
		return a.caller
	}
	return connectionPrefix + p.Addr.String()
}

// isProbe reports whether a call is a health probe. Probes need neither credentials nor a slot, so that a busy server
// stays healthy.
func isProbe(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }
