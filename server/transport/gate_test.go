package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestGateCheck(t *testing.T) {
	if err := NewGate(GateOptions{}).Check(""); err != nil {
		t.Errorf("an open gate: %v", err)
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := NewTokens(path, quiet())
	if err != nil {
		t.Fatal(err)
	}
	short, rejected := false, 0
	g := NewGate(GateOptions{Tokens: tokens, MaxInFlight: 1, UnderPressure: func() bool { return short }, Rejected: func() { rejected++ }})
	check := func(name, authorization string, code codes.Code, reason string) {
		t.Helper()
		if err := g.Check(authorization); status.Code(err) != code || err != nil && reasonOf(err) != reason {
			t.Errorf("%s: %v", name, err)
		}
	}
	check("no token", "", codes.Unauthenticated, "UNAUTHENTICATED")
	check("another scheme", "Basic alpha", codes.Unauthenticated, "UNAUTHENTICATED")
	check("another token", "Bearer beta", codes.Unauthenticated, "UNAUTHENTICATED")
	check("the token", "bearer alpha", codes.OK, "")
	leave, err := g.enter(metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "Bearer alpha")), "/x/Y")
	if err != nil || g.InFlight() != 1 {
		t.Fatalf("%v, %d in flight", err, g.InFlight())
	}
	check("no slot", "Bearer alpha", codes.Unavailable, "OVERLOADED")
	leave()
	check("a slot", "Bearer alpha", codes.OK, "")
	short = true
	check("no memory", "Bearer alpha", codes.Unavailable, "OVERLOADED")
	if rejected != 2 || g.InFlight() != 0 {
		t.Errorf("%d rejections counted, %d in flight", rejected, g.InFlight())
	}
}

// TestTokenIsCheckedBeforeTheMessage: a call without a token is rejected by its headers, before its message is received.
func TestTokenIsCheckedBeforeTheMessage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := NewTokens(path, quiet())
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := serve(t, ServerOptions{Log: quiet(), Gate: NewGate(GateOptions{Tokens: tokens})}, &echo{}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, "/test.Echo/Call") // a unary method whose message never comes
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(new(wrapperspb.BytesValue)); status.Code(err) != codes.Unauthenticated || reasonOf(err) != "UNAUTHENTICATED" {
		t.Error(err)
	}
}

func TestMaxInFlight(t *testing.T) {
	var rejected atomic.Int32
	entered, leave := make(chan struct{}), make(chan struct{})
	e := &echo{handle: func(_ context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
		entered <- struct{}{}
		<-leave
		return in, nil
	}}
	addr, _ := serve(t, ServerOptions{Gate: NewGate(GateOptions{MaxInFlight: 2, Rejected: func() { rejected.Add(1) }}), Log: quiet()}, e, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	results := make(chan error, 2)
	go func() { _, err := call(t.Context(), c, ""); results <- err }()
	go func() { results <- stream(t.Context(), c) }()
	<-entered
	<-entered
	for name, err := range map[string]error{"unary": func() error { _, err := call(t.Context(), c, ""); return err }(), "stream": stream(t.Context(), c)} {
		if status.Code(err) != codes.Unavailable || reasonOf(err) != "OVERLOADED" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("a probe of a busy server: %v", err)
	}
	if n := rejected.Load(); n != 2 {
		t.Errorf("%d rejections counted", n)
	}
	close(leave)
	if a, b := <-results, <-results; a != nil || b != nil {
		t.Errorf("%v, %v", a, b)
	}
	go func() { <-entered }()
	if _, err := call(t.Context(), c, ""); err != nil {
		t.Errorf("the slot was not released: %v", err)
	}
}

func TestMemoryPressure(t *testing.T) {
	short := true
	addr, _ := serve(t, ServerOptions{Gate: NewGate(GateOptions{UnderPressure: func() bool { return short }}), Log: quiet()}, &echo{handle: same}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	if _, err := call(t.Context(), c, ""); reasonOf(err) != "OVERLOADED" {
		t.Errorf("got %v", err)
	}
	short = false
	if _, err := call(t.Context(), c, ""); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestCaller checks what identifies a caller: a token if tokens are required, a client certificate, or the connection.
func TestCaller(t *testing.T) {
	ctx := func(token, subject string, port int) context.Context {
		p := &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: port}}
		if subject != "" {
			certificate := &x509.Certificate{Subject: pkix.Name{CommonName: subject}}
			p.AuthInfo = credentials.TLSInfo{State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{certificate}}}}
		}
		ctx := peer.NewContext(context.Background(), p)
		if token != "" {
			ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+token))
		}
		return ctx
	}
	withTokens, without := &Gate{GateOptions: GateOptions{Tokens: &Tokens{}}}, &Gate{}
	for name, c := range map[string]struct {
		gate *Gate
		a, b context.Context
		same bool
	}{
		"one token, two connections":       {withTokens, ctx("x", "", 1), ctx("x", "", 2), true},
		"two tokens":                       {withTokens, ctx("x", "", 1), ctx("y", "", 1), false},
		"a token without authentication":   {without, ctx("x", "", 1), ctx("y", "", 1), true},
		"one certificate, two connections": {without, ctx("", "a", 1), ctx("", "a", 2), true},
		"two certificates":                 {without, ctx("", "a", 1), ctx("", "b", 1), false},
		"two connections":                  {without, ctx("", "", 1), ctx("", "", 2), false},
	} {
		if a, b := c.gate.Caller(c.a), c.gate.Caller(c.b); (a == b) != c.same || a == "" {
			t.Errorf("%s: %q and %q", name, a, b)
		}
	}
}
