package telemetry

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/server/call"
)

const validate = "/crdeval.v1.EvaluationService/Validate"

func isValidate(method string) bool { return method == validate }

// serve reports a call to a handler.
func serve(ctx context.Context, h stats.Handler, method string, err error) {
	ctx = h.TagRPC(call.With(ctx, &call.Call{Method: method}), &stats.RPCTagInfo{FullMethodName: method})
	h.HandleRPC(ctx, &stats.Begin{})
	begin := time.Unix(1, 0)
	h.HandleRPC(ctx, &stats.End{BeginTime: begin, EndTime: begin.Add(20 * time.Millisecond), Error: err})
}

// TestCallsAsOtelgrpc compares the metrics of callHandler with those of otelgrpc.
func TestCallsAsOtelgrpc(t *testing.T) {
	measure := func() string {
		tel := newTelemetry(t)
		h := tel.ServerHandler(isValidate)
		serve(t.Context(), h, validate, nil)
		for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
			serve(t.Context(), h, validate, status.Error(c, "x"))
		}
		serve(t.Context(), h, "/grpc.health.v1.Health/Check", nil)
		serve(t.Context(), h, "/invented", nil)
		serve(t.Context(), h, "", nil)
		return grep(scrape(t, tel), "rpc_")
	}
	got := measure()
	t.Setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "none")
	if want := measure(); got != want || got == "" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestCallsPropagate checks that a call keeps the trace and the baggage of its caller although no spans are exported.
func TestCallsPropagate(t *testing.T) {
	h := newTelemetry(t).ServerHandler(isValidate)
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(
		"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "baggage", "a=1", "baggage", "b=2"))
	ctx = h.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: validate})
	if id := trace.SpanContextFromContext(ctx).TraceID().String(); id != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("trace %s", id)
	}
	if n := baggage.FromContext(ctx).Len(); n != 2 {
		t.Errorf("%d members of the baggage", n)
	}
}

func TestCallsAllocateLittle(t *testing.T) {
	h := newTelemetry(t).ServerHandler(isValidate)
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(":authority", "x", "content-type", "application/grpc"))
	ctx = call.With(ctx, &call.Call{Method: validate})
	info, end := &stats.RPCTagInfo{FullMethodName: validate}, &stats.End{}
	n := testing.AllocsPerRun(100, func() { h.HandleRPC(h.TagRPC(ctx, info), end) })
	if n > 4 {
		t.Errorf("%v allocations a call", n)
	}
}
