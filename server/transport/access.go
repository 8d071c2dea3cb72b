package transport

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/server/call"
)

// requestID is the metadata key of the ID of a call. The REST gateway sets it for every request.
const requestID = "x-request-id"

// accessLog logs every call at its end, without payloads. Calls rejected because of load go to overload.
type accessLog struct {
	log      *slog.Logger
	overload *overloadLog
}

// levelOf returns the log level for a status. Limits and deadlines are caused by callers, which could fill the log.
func levelOf(code codes.Code) slog.Level {
	switch code {
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return slog.LevelError
	case codes.Unavailable:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

func (a accessLog) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	start := time.Now()
	resp, err := handler(ctx, req)
	a.record(ctx, info.FullMethod, start, err)
	return resp, err
}

func (a accessLog) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	start := time.Now()
	err := handler(srv, ss)
	if !info.IsClientStream && status.Code(err) == codes.Unavailable && !isOverload(err) {
		a.recordAt(ss.Context(), slog.LevelDebug, info.FullMethod, start, err) // every watch ends like this
	} else {
		a.record(ss.Context(), info.FullMethod, start, err)
	}
	return err
}

func (a accessLog) record(ctx context.Context, method string, start time.Time, err error) {
	level := slog.LevelDebug
	switch {
	case err == nil:
	case isOverload(err):
		a.overload.add(ctx, err)
	default:
		level = levelOf(status.Code(err))
	}
	a.recordAt(ctx, level, method, start, err)
}

func (a accessLog) recordAt(ctx context.Context, level slog.Level, method string, start time.Time, err error) {
	if !a.log.Enabled(ctx, level) {
		return
	}
	attributes := []slog.Attr{
		slog.String("method", method), slog.String("code", status.Code(err).String()),
		slog.Duration("duration", time.Since(start)),
	}
	if p, ok := peer.FromContext(ctx); ok {
		attributes = append(attributes, slog.String("peer", p.Addr.String()))
	}
	if id := call.Of(ctx).RequestID; id != "" {
		attributes = append(attributes, slog.String("request_id", id))
	}
	if err != nil {
		attributes = append(attributes, slog.String("error", err.Error()))
	}
	a.log.LogAttrs(ctx, level, "call", attributes...)
}

// boundedID returns id, or a new random ID if id is too long.
func boundedID(id string) string {
	if len(id) > MaxRequestID {
		return rand.Text()
	}
	return id
}
