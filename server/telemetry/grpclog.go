package telemetry

import (
	"bytes"
	"io"
	"log/slog"
	"sync/atomic"

	"google.golang.org/grpc/grpclog"
)

// grpcLogger is the logger of gRPC and grpc-gateway, whose logger is global. It is set when a Telemetry is made; nil discards.
var grpcLogger atomic.Pointer[slog.Logger]

// gRPC reads its logger without a lock, so it is set before anything runs.
func init() { grpclog.SetLoggerV2(grpclog.NewLoggerV2(grpcLog{}, io.Discard, io.Discard)) } //nolint:gochecknoinits // see above

// grpcLog writes lines of the form "DATE TIME SEVERITY: text" at debug level: nearly all are caused by clients, which could fill the log with them.
type grpcLog struct{}

// Write implements io.Writer.
func (grpcLog) Write(line []byte) (int, error) {
	if log := grpcLogger.Load(); log != nil {
		head, text, _ := bytes.Cut(line, []byte(": "))
		log.Debug("grpc", "severity", string(head[bytes.LastIndexByte(head, ' ')+1:]), "text", string(bytes.TrimSpace(text)))
	}
	return len(line), nil
}
