package transport

import (
	"context"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestGateCheck(t *testing.T) {
	if err := NewGate(GateOptions{}).Check(); err != nil {
		t.Errorf("an open gate: %v", err)
	}
	short, rejected := false, 0
	g := NewGate(GateOptions{MaxInFlight: 1, UnderPressure: func() bool { return short }, Rejected: func() { rejected++ }})
	check := func(name string, code codes.Code, reason string) {
		t.Helper()
		if err := g.Check(); status.Code(err) != code || err != nil && reasonOf(err) != reason {
			t.Errorf("%s: %v", name, err)
		}
	}
	leave, err := g.enter(t.Context(), "/x/Y")
	if err != nil || g.InFlight() != 1 {
		t.Fatalf("%v, %d in flight", err, g.InFlight())
	}
	check("no slot", codes.Unavailable, "OVERLOADED")
	leave()
	check("a slot", codes.OK, "")
	short = true
	check("no memory", codes.Unavailable, "OVERLOADED")
	if rejected != 2 || g.InFlight() != 0 {
		t.Errorf("%d rejections counted, %d in flight", rejected, g.InFlight())
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
