package load

import (
	"context"
	"fmt"
	"strings"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// largeHeaders: calls with metadata of 10 MB, from several connections.
func largeHeaders(l *load) {
	s := l.launch(l.withMemory(maxMemory))
	n := l.neighbour(s, "neighbour", 10)
	l.isolation(s, n)
	accepted := 0
	if err := sendHeaders(l.Context(), s.grpc, largeMetadata()); err == nil {
		accepted++
	}
	l.atMost("accepted calls with 10 MB of metadata", float64(accepted), bound{0, 0}, "")
}

// largeMetadata has 10 MB in 100 fields.
func largeMetadata() (fields []string) {
	value := strings.Repeat("v", 100_000)
	for i := range 100 {
		fields = append(fields, fmt.Sprintf("x-%d", i), value)
	}
	return fields
}

func attackLargeHeaders(ctx context.Context, l *load, grpc, _ string) error {
	metadata := largeMetadata()
	return forever(ctx, l.size(32, 8), func(ctx context.Context) error {
		return sendHeaders(ctx, grpc, metadata)
	})
}

// sendHeaders makes a call with metadata. It returns an error unless the call succeeds.
func sendHeaders(ctx context.Context, address string, metadata []string) error {
	f, err := dialFrames(ctx, address, 65535)
	if err != nil {
		return err
	}
	defer func() { _ = f.conn.Close() }()
	id, err := f.call(method("ServerService", "GetServerInfo"), &crdevalv1.GetServerInfoRequest{}, metadata...)
	if err != nil {
		return err
	}
	a, err := f.wait(id)
	if err == nil && a.status != "0" {
		err = fmt.Errorf("status %s", a.status)
	}
	return err
}
