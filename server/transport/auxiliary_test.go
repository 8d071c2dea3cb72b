package transport

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/server/call"
)

// boundedServer serves health with bounded connections.
func boundedServer(t *testing.T, o ServerOptions) (address string) {
	t.Helper()
	all := NewConnections(ConnectionOptions{Memory: o.Memory, Log: quiet()})
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(o)
	healthpb.RegisterHealthServer(s, health.NewServer())
	done := make(chan error, 1)
	go func() { done <- s.Serve(all.Listener(l)) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// watchHealth opens a health watch. The error is that of its first message.
func watchHealth(t *testing.T, c *grpc.ClientConn) (end func(), err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w, err := healthpb.NewHealthClient(c).Watch(ctx, &healthpb.HealthCheckRequest{})
	if err == nil {
		_, err = w.Recv()
	}
	return cancel, err
}

// TestHealthWatches: health watches are bounded, for a connection and in total. Health checks are not rejected.
func TestHealthWatches(t *testing.T) {
	memory := call.NewMemory(1) // nothing fits
	address := boundedServer(t, ServerOptions{MaxAuxiliaryStreams: maxAuxiliaryPerConnection + 2, Memory: memory, Log: quiet()})
	connect := func() *grpc.ClientConn { return dial(t, address, insecure.NewCredentials()) }
	first, second := connect(), connect()
	open := func(c *grpc.ClientConn, want int) (end func()) {
		t.Helper()
		for range want {
			var err error
			if end, err = watchHealth(t, c); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(end)
		}
		end2, err := watchHealth(t, c)
		end2()
		if status.Code(err) != codes.Unavailable || reasonOf(err) != "OVERLOADED" {
			t.Fatalf("one more than %d: %v", want, err)
		}
		return end
	}
	end := open(first, maxAuxiliaryPerConnection)
	open(second, 2)
	end()
	until(t, "an ended watch still counts", func() bool {
		end, err := watchHealth(t, second)
		t.Cleanup(end)
		return err == nil
	})
	for _, c := range []*grpc.ClientConn{first, second} {
		if _, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
			t.Error(err)
		}
	}
}

// silentStream is a stream whose client sends nothing.
type silentStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s silentStream) Context() context.Context { return s.ctx }

func (s silentStream) RecvMsg(any) error {
	<-s.ctx.Done()
	return s.ctx.Err()
}

// TestIdleReflection: a reflection stream without requests ends after a minute. Other streams may be idle for longer.
func TestIdleReflection(t *testing.T) {
	for method, want := range map[string]time.Duration{
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      reflectionIdle,
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": reflectionIdle,
		"/crdeval.v1.EvaluationService/AdmitStream":                      time.Hour,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			a := &auxiliary{rejected: func(string) {}}
			begin := time.Now()
			err := a.stream(nil, silentStream{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: method, IsClientStream: true},
				func(_ any, ss grpc.ServerStream) error { return ss.RecvMsg(nil) })
			if waited := time.Since(begin); waited != want || status.Code(err) != codes.DeadlineExceeded && want == reflectionIdle {
				t.Errorf("%s: %v after %v", method, err, waited)
			}
			if a.open.Load() != 0 {
				t.Error("an ended stream counts")
			}
		})
	}
}

// panickingStream panics while it receives.
type panickingStream struct{ grpc.ServerStream }

func (panickingStream) RecvMsg(any) error { panic("ouch") }

// TestReflectionPanics checks that a panic of the goroutine that receives is raised in the handler, with its own stack.
func TestReflectionPanics(t *testing.T) {
	defer func() {
		if p := recover(); fmt.Sprint(p) != "panic: ouch" || !strings.Contains(stackOf(p), "panickingStream") {
			t.Errorf("recovered %v with the stack\n%s", p, stackOf(p))
		}
	}()
	t.Errorf("no panic: %v", (&reflectionStream{panickingStream{}}).RecvMsg(nil))
}
