package transport

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
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
