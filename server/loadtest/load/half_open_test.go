package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// halfOpen: messages and bodies that are almost complete and never end.
func halfOpen(l *load) {
	s := l.launch(l.withMemory(maxMemory))
	n := l.neighbour(s, "neighbour", 10)
	l.isolation(s, n)
}

func attackHalfOpen(ctx context.Context, l *load, grpc, http string) error {
	announced, sent := 30<<20, l.size(20<<20, 10<<20)
	rest := make(chan error, 1)
	go func() {
		rest <- forever(ctx, l.size(40, 10), func(ctx context.Context) error {
			return halfREST(ctx, http, announced, sent)
		})
	}()
	err := forever(ctx, l.size(40, 10), func(ctx context.Context) error {
		return halfGRPC(ctx, grpc, announced, sent)
	})
	return errors.Join(err, <-rest)
}

// halfGRPC sends a part of the announced message.
func halfGRPC(ctx context.Context, address string, announced, sent int) error {
	f, err := dialFrames(ctx, address, 65535)
	if err != nil {
		return err
	}
	id, err := f.open(method("EvaluationService", "Validate"))
	if err == nil {
		err = f.send(id, prefix(announced), false)
	}
	if err == nil {
		err = f.send(id, make([]byte, sent), false)
	}
	return errors.Join(err, f.untilEnded(ctx, 1))
}

// halfREST sends a part of the announced body.
func halfREST(ctx context.Context, address string, announced, sent int) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /v1/catalogs/neighbour:validate HTTP/1.1\r\nContent-Type: application/json\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", announced, make([]byte, sent))
	if err != nil {
		return err
	}
	for answer := make([]byte, 512); ; {
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		if n, err := conn.Read(answer); !timeout(err) {
			return fmt.Errorf("REST: the server ended the request: %q, %w", answer[:min(n, 80)], cmp.Or(err, io.EOF))
		}
	}
}

func timeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
