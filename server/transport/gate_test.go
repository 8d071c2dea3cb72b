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

	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
)

// newLimiter returns a limiter with a fixed limit only.
func newLimiter(maximum int) *call.Limiter {
	return call.NewLimiter(call.LimiterOptions{Max: maximum})
}

// inFlight returns the number of calls in flight.
func (g *Gate) inFlight() int {
	s := g.Limiter.State()
	return s.Active + s.Paused
}

func TestGateAdmit(t *testing.T) {
	admit := func(g *Gate) (*call.Slot, error) {
		c := &call.Call{}
		err := g.admit(call.With(t.Context(), c), 0)
		return c.Slot, err
	}
	if slot, err := admit(NewGate(GateOptions{})); slot != nil || err != nil {
		t.Errorf("an open gate: %v, %v", slot, err)
	}
	short, rejected := false, map[string]int{}
	g := NewGate(GateOptions{
		Limiter: newLimiter(1), UnderPressure: func() bool { return short }, Log: quiet(),
		Rejected: func(reason string) { rejected[reason]++ },
	})
	check := func(name string, code codes.Code, reason string) {
		t.Helper()
		slot, err := admit(g)
		if status.Code(err) != code || err != nil && reasonOf(err) != reason {
			t.Errorf("%s: %v", name, err)
		}
		if delay, ok := api.RetryDelayOf(status.Convert(err).Proto()); ok != (reason == "OVERLOADED") || ok && delay <= 0 {
			t.Errorf("%s: retry delay %v, %v", name, delay, ok)
		}
		slot.Release()
	}
	slot, err := admit(g)
	if err != nil || g.inFlight() != 1 {
		t.Fatalf("%v, %d in flight", err, g.inFlight())
	}
	check("no slot", codes.Unavailable, "OVERLOADED")
	slot.Release()
	check("a slot", codes.OK, "")
	short = true
	check("no memory", codes.Unavailable, "OVERLOADED")
	if rejected["max_in_flight"] != 1 || rejected["memory"] != 1 || g.inFlight() != 0 {
		t.Errorf("rejections: %v, %d in flight", rejected, g.inFlight())
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
	addr, _ := serve(t, ServerOptions{Gate: NewGate(GateOptions{Limiter: newLimiter(2), Rejected: func(string) { rejected.Add(1) }, Log: quiet()}), Log: quiet()}, e, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	results := make(chan error, 2)
	go func() { _, err := invoke(t.Context(), c, ""); results <- err }()
	go func() { results <- stream(t.Context(), c) }()
	<-entered
	<-entered
	for name, err := range map[string]error{"unary": func() error { _, err := invoke(t.Context(), c, ""); return err }(), "stream": stream(t.Context(), c)} {
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
	if _, err := invoke(t.Context(), c, ""); err != nil {
		t.Errorf("the slot was not released: %v", err)
	}
}

func TestMemoryPressure(t *testing.T) {
	short := true
	addr, _ := serve(t, ServerOptions{Gate: NewGate(GateOptions{UnderPressure: func() bool { return short }, Log: quiet()}), Log: quiet()}, &echo{handle: same}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	if _, err := invoke(t.Context(), c, ""); reasonOf(err) != "OVERLOADED" {
		t.Errorf("got %v", err)
	}
	short = false
	if _, err := invoke(t.Context(), c, ""); err != nil {
		t.Errorf("got %v", err)
	}
}
