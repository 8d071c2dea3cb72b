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
	value := strings.Repeat("v", 100_000)
	var metadata []string
	for i := range l.size(100, 30) {
		metadata = append(metadata, fmt.Sprintf("x-%d", i), value)
	}
	accepted := make(chan int, 1)
	l.isolation(s, n, func(ctx context.Context) error {
		counts := make(chan int, 1000)
		err := forever(ctx, l.size(32, 8), func(ctx context.Context) error {
			f, err := dialFrames(ctx, s.grpc, 65535)
			if err != nil {
				return err
			}
			id, err := f.call(method("ServerService", "GetServerInfo"), &crdevalv1.GetServerInfoRequest{}, metadata...)
			if err != nil {
				return fmt.Errorf("the server ended the connection: %w", err)
			}
			if a, err := f.wait(id); err == nil && a.status == "0" {
				select {
				case counts <- 1:
				default:
				}
			}
			return f.untilEnded(ctx, 1)
		})
		accepted <- len(counts)
		return err
	})
	l.atMost("accepted calls with 10 MB of metadata", float64(<-accepted), bound{0, 0}, "")
}
