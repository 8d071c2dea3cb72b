package api

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// wrapUnary returns a copy of desc with other handlers of unary methods.
func wrapUnary(desc *grpc.ServiceDesc, wrap func(grpc.MethodHandler) grpc.MethodHandler) *grpc.ServiceDesc {
	own := *desc
	own.Methods, own.Streams = slices.Clone(desc.Methods), slices.Clone(desc.Streams)
	for i := range own.Methods {
		own.Methods[i].Handler = wrap(own.Methods[i].Handler)
	}
	return &own
}

// intercept returns a handler with inner as the innermost interceptor.
func intercept(handler grpc.MethodHandler, inner grpc.UnaryServerInterceptor) grpc.MethodHandler {
	return func(service any, ctx context.Context, decode func(any) error, outer grpc.UnaryServerInterceptor) (any, error) {
		all := inner
		if outer != nil {
			all = func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				return outer(ctx, request, info, func(ctx context.Context, request any) (any, error) {
					return inner(ctx, request, info, next)
				})
			}
		}
		return handler(service, ctx, decode, all)
	}
}

// A registrar registers services whose handlers return plain errors. Inside all interceptors it makes statuses of them.
type registrar struct {
	grpc.ServiceRegistrar
	faults faults
}

// RegisterService implements grpc.ServiceRegistrar.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, service any) {
	own := wrapUnary(desc, func(h grpc.MethodHandler) grpc.MethodHandler { return intercept(h, r.faults.unary) })
	for i := range own.Streams {
		handler := own.Streams[i].Handler
		own.Streams[i].Handler = func(service any, s grpc.ServerStream) error {
			return r.faults.call(s.Context(), handler(service, &serverStream{ServerStream: s}))
		}
	}
	r.ServiceRegistrar.RegisterService(own, service)
}

// unary is an interceptor that checks the request, and whose errors are statuses.
func (f faults) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (response any, err error) {
	if err = checkRequest(request); err == nil {
		response, err = next(ctx, request)
	}
	return response, f.call(ctx, err)
}

// checkRequest returns the error of a request without a catalog.
func checkRequest(m any) error {
	if catalog, field := crdevalv1.CatalogOf(m); field != "" && catalog == "" {
		return required(field, catalog)
	}
	return nil
}

// A serverStream checks the messages of a stream.
type serverStream struct {
	grpc.ServerStream
	begun bool
}

// RecvMsg implements grpc.ServerStream. Only the first message of a stream names the catalog.
func (s *serverStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil && !s.begun {
		err = checkRequest(m)
	}
	s.begun = true
	return err
}
