package transport

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/crdeval/crdeval/server/call"
)

// halfCodec sends bytes as they are.
type halfCodec struct{}

func (halfCodec) Name() string { return "half" }
func (halfCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (halfCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

var _ encoding.CodecV2 = halfCodec{}

// halfway is a connection that sends only a part of its first message.
type halfway struct {
	net.Conn
	stuck *atomic.Bool
}

// Write sends headers, and the first KiB of a message.
func (c halfway) Write(p []byte) (int, error) {
	if c.stuck.Load() {
		return len(p), nil
	}
	for at := 0; at+9 <= len(p); {
		length := int(binary.BigEndian.Uint32(append([]byte{0}, p[at:at+3]...)))
		if p[at+3] == 0 && length > 4096 { // DATA
			c.stuck.Store(true)
			if _, err := c.Conn.Write(p[:min(len(p), at+2048)]); err != nil {
				return 0, err
			}
			return len(p), nil
		}
		at += 9 + length
	}
	return c.Conn.Write(p)
}

// stalling calls a method with a message that stays incomplete. The channel has the error of the call.
func stalling(t *testing.T, address, method string) <-chan error {
	t.Helper()
	stuck := new(atomic.Bool)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, at string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", at)
			return halfway{c, stuck}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	done := make(chan error, 1)
	go func() {
		in, out := make([]byte, 1<<20), []byte(nil)
		done <- conn.Invoke(t.Context(), method, &in, &out, grpc.ForceCodecV2(halfCodec{}))
	}()
	return done
}

func serveHealth(t *testing.T, gate *Gate) (*grpc.Server, string) {
	t.Helper()
	s := NewServer(ServerOptions{Gate: gate, Log: slog.New(slog.DiscardHandler)})
	healthgrpc.RegisterHealthServer(s, health.NewServer())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return s, l.Addr().String()
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// TestIncompleteMessages: calls with incomplete messages are limited, are aborted when memory is short or the server
// drains, and release their slots.
func TestIncompleteMessages(t *testing.T) {
	const method = "/crdeval.v1.Unknown/Call"
	var short atomic.Bool
	var rejected atomic.Int32
	gate := NewGate(GateOptions{
		Limiter: newLimiter(2), UnderPressure: short.Load, Rejected: func(string) { rejected.Add(1) }, Log: quiet(),
	})
	address, _ := serve(t, ServerOptions{Gate: gate, Log: quiet()}, &echo{}, "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begin := func() error {
		_, err := gate.tap(accessLog{quiet(), &gate.overload})(call.With(ctx, &call.Call{Method: method}), &tap.Info{FullMethodName: method})
		return err
	}
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	if err := begin(); status.Code(err) != codes.Unavailable || reasonOf(err) != "OVERLOADED" || gate.inFlight() != 2 {
		t.Errorf("the third call: %v, %d in flight", err, gate.inFlight())
	}
	cancel()
	until(t, "slots of ended calls are not released", func() bool { return gate.inFlight() == 0 })

	// stall begins a call and waits until it uses a slot.
	stall := func(method string, slots func() int) <-chan error {
		call := stalling(t, address.String(), method)
		until(t, method+" uses no slot", func() bool { return slots() == 1 || len(call) > 0 })
		return call
	}
	probes := func() int { return len(gate.incoming.probes) }
	released := func() bool { return gate.inFlight() == 0 && len(gate.incoming.probes) == 0 }
	const call = "/test.Echo/Call" // it has more time than a probe, which a busy machine may use up before memory is short
	for method, slots := range map[string]func() int{call: gate.inFlight, healthgrpc.Health_Check_FullMethodName: probes} {
		stalled := stall(method, slots)
		short.Store(true)
		code := status.Code(<-stalled)
		if code != codes.Canceled && (method == call || code != codes.DeadlineExceeded) {
			t.Errorf("%s, short of memory: %v", method, code)
		}
		short.Store(false)
		until(t, "the slot of "+method+" is not released", released)
	}
	stalled := stall(call, gate.inFlight)
	until(t, "a call that waits for its message is not paused", func() bool { return gate.Limiter.State().Paused == 1 })
	began := time.Now()
	gate.Drain()
	if err := <-stalled; status.Code(err) != codes.DeadlineExceeded || time.Since(began) < DrainTimeout {
		t.Errorf("draining: %v after %v", err, time.Since(began))
	}
	until(t, "the slot of the call is not released", released)
	if rejected.Load() != 4 {
		t.Errorf("%d rejections counted", rejected.Load())
	}
}

// TestIncomingTimeout: the timeout depends on the largest message.
func TestIncomingTimeout(t *testing.T) {
	gate := NewGate(GateOptions{})
	if NewServer(ServerOptions{Gate: gate, MaxMessageBytes: 64 << 20}).Stop(); gate.incoming.timeout != 158*time.Second {
		t.Errorf("64 MiB have %v", gate.incoming.timeout)
	}
}

// TestCompleteMessagesUseNoSlot: a received message releases its slot, of a call and of a stream with one request.
func TestCompleteMessagesUseNoSlot(t *testing.T) {
	gate := NewGate(GateOptions{Limiter: newLimiter(1)})
	_, address := serveHealth(t, gate)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := healthgrpc.NewHealthClient(conn)
	for range 2 * maxIncomingProbes {
		if _, err := client.Check(t.Context(), &healthgrpc.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		watch, err := client.Watch(t.Context(), &healthgrpc.HealthCheckRequest{})
		if err == nil {
			_, err = watch.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	until(t, "slots are not released", func() bool { return len(gate.incoming.probes) == 0 && gate.inFlight() == 0 })
}
