package transport

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/crdeval/crdeval/server/call"
)

// ledgerBytes is the size of the ledger of an account. 768 KiB of it are not reserved.
const ledgerBytes = 1 << 20

var errOfHandler = errors.New("the handler failed")

// account has the accounts of the calls of "caller", with a ledger.
type account struct {
	accounts
	rejections int
}

// newAccount returns an account in which another lease of a holder has bytes already.
func newAccount(t *testing.T, holder string, bytes int64) *account {
	t.Helper()
	a := &account{}
	a.accounts = accounts{
		memory: call.NewMemory(ledgerBytes),
		max:    2 * ledgerBytes,
		rejected: func(reason string) {
			if a.rejections++; reason != RejectedMemory {
				t.Errorf("rejected because of %s", reason)
			}
		},
	}
	if err := a.memory.Open(holder).TryGrow(call.Tree, bytes); err != nil {
		t.Fatal(err)
	}
	return a
}

// gatewayBytes is what the REST gateway holds for a call.
const gatewayBytes = 1

// context returns the context of a call. That of a call of the gateway has a lease already.
func (a *account) context(t *testing.T, gateway bool) context.Context {
	t.Helper()
	c := &call.Call{Caller: "caller"}
	if gateway {
		c.Lease = a.memory.Open("caller")
		if err := c.Lease.TryGrow(call.Request, gatewayBytes); err != nil {
			t.Fatal(err)
		}
	}
	return call.With(t.Context(), c)
}

// held are the bytes of requests and of responses.
type held struct{ request, response int64 }

func (a *account) held() held {
	if a.memory == nil {
		return held{}
	}
	bytes := a.memory.Stats().Bytes
	return held{bytes[call.Request], bytes[call.Response]}
}

// check compares what is held at some moment with what is expected.
func (a *account) check(t *testing.T, when string, want held) {
	t.Helper()
	if got := a.held(); got != want {
		t.Errorf("%s: %+v is held, not %+v", when, got, want)
	}
}

func sized(n int) *wrapperspb.BytesValue { return wrapperspb.Bytes(make([]byte, n)) }

func encodedSize(n int) int64 { return int64(proto.Size(sized(n))) }

// encode encodes a message as gRPC does.
func encode(t *testing.T, message any) mem.BufferSlice {
	t.Helper()
	data, err := accountingCodec{encoding.GetCodecV2(grpcproto.Name)}.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// accountedCall is a call with a request and a response of fixed sizes, except if others are given.
type accountedCall struct {
	probe, gateway, fails bool
	holder                string // of bytes
	bytes                 int64
	request, response     int
	during, after         held // in the handler, and when the response is not encoded yet
	reason                string
	unhandled             bool // the handler is not called
}

const requestBytes, responseBytes = 10_000, 20_000

func (c *accountedCall) run(t *testing.T, a *account) (reply any, err error) {
	t.Helper()
	method, handled := "/test.Echo/Call", false
	if c.probe {
		method = "/grpc.health.v1.Health/Check"
	}
	intercept := a.unary
	if c.gateway {
		intercept = a.inner
	}
	reply, err = intercept(a.context(t, c.gateway), sized(cmp.Or(c.request, requestBytes)), &grpc.UnaryServerInfo{FullMethod: method},
		func(ctx context.Context, _ any) (any, error) {
			handled = true
			a.check(t, "in the handler", c.during)
			if (call.Of(ctx).Lease == nil) != c.probe {
				t.Errorf("the context has the lease %v", call.Of(ctx).Lease)
			}
			if c.fails {
				return nil, errOfHandler
			}
			return sized(cmp.Or(c.response, responseBytes)), nil
		})
	if handled == c.unhandled || errors.Is(err, errOfHandler) != c.fails || reasonOf(err) != c.reason {
		t.Errorf("handled: %t, error: %v", handled, err)
	}
	if want := c.reason == "OVERLOADED"; (a.rejections == 1) != want || (a.memory.Stats().Rejected == 1) != (c.reason != "") {
		t.Errorf("%d rejections, %+v", a.rejections, a.memory.Stats())
	}
	return reply, err
}

// TestUnaryAccounts: a call holds bytes for itself and its request while its handler runs, and bytes for its response
// until that is dropped. If the gateway has opened the lease, the gateway releases it.
func TestUnaryAccounts(t *testing.T) {
	own, gateway := held{request: callBytes + encodedSize(requestBytes)}, held{request: gatewayBytes}
	large := callBytes + encodedSize(120_000)
	answer := encodedSize(responseBytes)
	for name, c := range map[string]accountedCall{
		"a call":                       {during: own, after: held{own.request, answer}},
		"a health call":                {probe: true},
		"a failed call":                {fails: true, during: own},
		"a call of the gateway":        {gateway: true, during: gateway, after: held{gatewayBytes, answer}},
		"a failed call of the gateway": {gateway: true, fails: true, during: gateway, after: gateway},
		"bytes of another caller": {holder: "other", bytes: 400_000, request: 120_000, during: held{request: large},
			after: held{large, answer}},
		"no memory for the call":     {holder: "caller", bytes: 510_000, unhandled: true, reason: "OVERLOADED"},
		"no memory for the request":  {holder: "caller", bytes: 400_000, request: 120_000, unhandled: true, reason: "OVERLOADED"},
		"no memory for the response": {holder: "other", bytes: 400_000, response: 300_000, during: own, reason: "OVERLOADED"},
		"no memory for a response to the gateway": {gateway: true, holder: "other", bytes: 400_000, response: 300_000,
			during: gateway, after: gateway, reason: "OVERLOADED"},
		"a request that never fits":  {request: ledgerBytes, unhandled: true, reason: "LIMIT_EXCEEDED"},
		"a response that never fits": {response: ledgerBytes, during: own, reason: "LIMIT_EXCEEDED"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccount(t, c.holder, c.bytes)
				reply, err := c.run(t, a)
				a.check(t, "after the handler", c.after)
				if _, leased := reply.(*response); err == nil && leased != (!c.probe && !c.gateway) {
					t.Errorf("the reply is a %T", reply)
				} else if leased {
					a.checkDropped(t, reply)
				}
			})
		})
	}
}

// checkDropped checks that an encoded response holds its own bytes until it is dropped.
func (a *account) checkDropped(t *testing.T, reply any) {
	t.Helper()
	data := encode(t, reply)
	if now := a.held(); now.request != 0 || now.response < int64(data.Len()) {
		t.Errorf("an encoded response of %d bytes holds %+v", data.Len(), now)
	}
	data.Free()
	a.check(t, "at the end", held{})
}

// TestUnaryWithoutMemory: without a ledger, a call has no lease.
func TestUnaryWithoutMemory(t *testing.T) {
	a := accounts{}
	reply, err := a.unary(t.Context(), sized(1), &grpc.UnaryServerInfo{}, func(ctx context.Context, request any) (any, error) {
		if call.Of(ctx).Lease != nil {
			t.Error("the call has a lease")
		}
		return request, nil
	})
	if _, plain := reply.(*wrapperspb.BytesValue); !plain || err != nil {
		t.Errorf("%T, %v", reply, err)
	}
}

// TestInnerTooLarge: a REST call gets the reason and the limit of a response that is too large.
func TestInnerTooLarge(t *testing.T) {
	a := accounts{max: 10}
	_, err := a.inner(t.Context(), nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { return sized(100), nil })
	if reasonOf(err) != "LIMIT_EXCEEDED" || !strings.Contains(err.Error(), "max_message_bytes is 10") {
		t.Error(err)
	}
}

// sentStream is a stream of which gRPC encodes the messages, except after its end.
type sentStream struct {
	grpc.ServerStream
	t       *testing.T
	ctx     context.Context //nolint:containedctx // a grpc.ServerStream has one
	encoded []mem.BufferSlice
	ended   bool
}

// Context implements grpc.ServerStream.
func (s *sentStream) Context() context.Context { return s.ctx }

// SendMsg implements grpc.ServerStream.
func (s *sentStream) SendMsg(message any) error {
	if s.ended {
		return io.EOF
	}
	s.encoded = append(s.encoded, encode(s.t, message))
	return nil
}

// TestStreamAccounts: a stream holds bytes for itself until its handler returns, and for each message until that is
// dropped.
func TestStreamAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, "other", 400_000)
		s := &sentStream{t: t, ctx: a.context(t, false)}
		err := a.stream(nil, s, &grpc.StreamServerInfo{FullMethod: "/test.Echo/Stream"}, func(_ any, own grpc.ServerStream) error {
			if call.Of(own.Context()).Lease == nil {
				t.Error("the stream has no lease")
			}
			a.check(t, "at the start", held{request: callBytes})
			for range 2 {
				if err := own.SendMsg(sized(responseBytes)); err != nil {
					t.Error(err)
				}
			}
			if now := a.held(); now.request != callBytes || now.response < 2*encodedSize(responseBytes) {
				t.Errorf("with two messages: %+v", now)
			}
			s.encoded[0].Free()
			one := a.held()
			if one.response < encodedSize(responseBytes) || one.response >= 2*encodedSize(responseBytes) {
				t.Errorf("with one message: %+v", one)
			}
			if err := own.SendMsg(sized(300_000)); reasonOf(err) != "OVERLOADED" || a.rejections != 1 {
				t.Errorf("without memory: %v, %d rejections", err, a.rejections)
			}
			s.ended = true
			if err := own.SendMsg(sized(responseBytes)); !errors.Is(err, io.EOF) {
				t.Errorf("a message that gRPC does not encode: %v", err)
			}
			a.check(t, "with messages that are not sent", one)
			return errOfHandler
		})
		if now := a.held(); !errors.Is(err, errOfHandler) || now.request != 0 || now.response == 0 {
			t.Errorf("with a message after the end: %+v, %v", now, err)
		}
		s.encoded[1].Free()
		a.check(t, "at the end", held{})
	})
}

// TestStreamLeases checks that only a stream over a network gets a lease, and leases for its messages.
func TestStreamLeases(t *testing.T) {
	for name, c := range map[string]struct {
		method    string
		unlimited bool
		bytes     int64 // of the caller
		reason    string
	}{
		"a health watch":               {method: "/grpc.health.v1.Health/Watch"},
		"a stream without a ledger":    {unlimited: true},
		"no memory for another stream": {bytes: 510_000, reason: "OVERLOADED"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, handled := newAccount(t, "caller", c.bytes), false
				s := &sentStream{t: t, ctx: a.context(t, false)}
				if c.unlimited {
					a.memory = nil
				}
				err := a.stream(nil, s, &grpc.StreamServerInfo{FullMethod: cmp.Or(c.method, "/test.Echo/Stream")},
					func(_ any, own grpc.ServerStream) error {
						if handled = true; own != grpc.ServerStream(s) {
							t.Errorf("the handler has a %T", own)
						}
						a.check(t, "in the handler", held{})
						return nil
					})
				a.check(t, "at the end", held{})
				rejected := c.reason != ""
				if reasonOf(err) != c.reason || handled == rejected || (a.rejections == 1) != rejected {
					t.Errorf("%v; handled: %t, %d rejections", err, handled, a.rejections)
				}
			})
		})
	}
}
