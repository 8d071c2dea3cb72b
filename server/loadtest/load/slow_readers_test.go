package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// amplifier is a CRD whose default has 58 KiB. A call of Default with 1,000 objects has 61 KiB, its response 58 MiB.
var amplifier = schemaCRD("Amplifier", fmt.Sprintf(`{type: object, properties: {spec: {type: string, default: %q}}}`,
	strings.Repeat("a", 58<<10)))

// slowReaders: clients that do not read large responses, over gRPC and REST.
func slowReaders(l *load) {
	s := l.launch(l.withMemory(maxMemory))
	n := l.neighbour(s, "neighbour", 10)
	l.register(s, "default", amplifier)
	l.isolation(s, n)
}

func attackSlowReaders(ctx context.Context, l *load, grpc, http string) error {
	rest := make(chan error, 1)
	go func() {
		rest <- forever(ctx, l.size(30, 8), func(ctx context.Context) error { return unreadREST(ctx, http) })
	}()
	err := forever(ctx, l.size(3, 1), func(ctx context.Context) error { return unreadGRPC(ctx, grpc, l.size(19, 10)) })
	return errors.Join(err, <-rest)
}

// amplified has 1,000 objects, which are 61 KiB together.
func amplified() *crdevalv1.DefaultRequest {
	request := &crdevalv1.DefaultRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}
	for range 1000 {
		request.Items = append(request.Items, &crdevalv1.ObjectItem{Object: crdeval.Document([]byte(
			`{"apiVersion":"a.dev/v1","kind":"Amplifier","metadata":{"name":"a"}}`))})
	}
	return request
}

// unreadGRPC makes calls on one connection without any window for their responses.
func unreadGRPC(ctx context.Context, address string, calls int) error {
	f, err := dialFrames(ctx, address, 0)
	if err != nil {
		return err
	}
	for range calls {
		if _, err := f.call(method("EvaluationService", "Default"), amplified()); err != nil {
			return err
		}
	}
	return f.untilEnded(ctx, calls)
}

// unreadREST sends a request and does not read the response.
func unreadREST(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	item := `{"object":{"apiVersion":"a.dev/v1","kind":"Amplifier","metadata":{"name":"a"}}}`
	var body bytes.Buffer
	_, _ = fmt.Fprintf(&body, `{"items":[%s]}`, repeated(item, 1000, ","))
	if _, err := fmt.Fprintf(conn, "POST /v1/catalogs/default:default HTTP/1.1\r\nContent-Type: application/json\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", body.Len(), body.Bytes()); err != nil {
		return err
	}
	for { // writing fails after the server has closed the connection
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(500 * time.Millisecond):
		}
		if _, err := conn.Write([]byte("\r\n")); err != nil {
			return fmt.Errorf("REST: the server closed the connection: %w", err)
		}
	}
}
