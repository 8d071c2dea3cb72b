package load

import (
	"context"
	"errors"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// idleStreams: streams that hold a slot without any work: reflection, calls without a message, watches of the health.
func idleStreams(l *load) {
	s := l.launch(l.withMemory(maxMemory))
	n := l.neighbour(s, "neighbour", 10)
	l.isolation(s, n)
}

func attackIdleStreams(ctx context.Context, l *load, grpc, _ string) error {
	opened := func(method string, streams int, body []byte) func(context.Context) error {
		return func(ctx context.Context) error { return openStreams(ctx, grpc, method, streams, body) }
	}
	const kinds = 3
	errs := make(chan error, kinds)
	for _, client := range []func(context.Context) error{
		opened("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", l.size(600, 300), nil),
		opened(method("EvaluationService", "Validate"), l.size(600, 300), nil),
		opened("/grpc.health.v1.Health/Watch", l.size(20_000, 2000), message(&healthv1.HealthCheckRequest{})),
	} {
		go func() { errs <- forever(ctx, 1, client) }()
	}
	return errors.Join(<-errs, <-errs, <-errs)
}

// openStreams opens streams on one connection and does not end them. body is the begin of their data.
func openStreams(ctx context.Context, address, method string, streams int, body []byte) error {
	f, err := dialFrames(ctx, address, 65535)
	if err != nil {
		return err
	}
	for range streams {
		id, err := f.open(method)
		if err == nil && body != nil {
			err = f.send(id, body, false)
		}
		if err != nil {
			return err
		}
	}
	return f.untilEnded(ctx, streams)
}
