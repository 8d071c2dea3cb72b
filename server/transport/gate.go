package transport

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/tap"
)

// Gate decides which calls come in: those of callers that are known, while there is a place and memory for them. A server asks it for every call;
// who takes in a call's body before a server sees the call, as the REST gateway does, asks Check first.
type Gate struct {
	tokens    *Tokens
	admission admission
	arrivals  *arrivals
}

// GateOptions configure NewGate. The zero value lets everybody in.
type GateOptions struct {
	Tokens        *Tokens     // nil: callers need no identity
	MaxInFlight   int         // calls at once, streams included; 0: no bound
	UnderPressure func() bool // says that memory is short; nil: nobody looks
	Refused       func()      // told of every call refused for want of a place or of memory; nil: nobody is
}

// NewGate returns a gate through which nobody has come yet.
func NewGate(o GateOptions) *Gate {
	admission := newAdmission(o.MaxInFlight, o.UnderPressure, o.Refused)
	return &Gate{tokens: o.Tokens, admission: admission, arrivals: newArrivals(o.MaxInFlight, o.UnderPressure, admission.refused)}
}

// Check says whether a call with this authorization (the value of the header: "Bearer TOKEN") would be let in at this moment. It takes no
// place: the server decides again when the call reaches it. The error is a status with its reason.
func (g *Gate) Check(authorization string) error {
	if g.tokens != nil {
		scheme, token, _ := strings.Cut(authorization, " ")
		if !strings.EqualFold(scheme, "bearer") || !g.tokens.known(token) {
			return unauthenticated()
		}
	}
	return g.admission.check()
}

// Drain has the messages that are under way come within two seconds, or not at all: a server that ends does not wait for them longer.
func (g *Gate) Drain() { g.arrivals.drain() }

// tap is Check for a gRPC server: it refuses a call by its headers, before its message is read into memory. The place it takes is for the message
// on its way; of places for calls the interceptors take one, which also judge calls that arrive in the same moment.
func (g *Gate) tap(log accessLog) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if isProbe(info.FullMethodName) {
			return g.arrivals.begin(ctx, info.FullMethodName, log)
		}
		authorization := ""
		if given := info.Header["authorization"]; len(given) > 0 {
			authorization = given[0]
		}
		if err := g.Check(authorization); err != nil {
			log.record(ctx, info.FullMethodName, time.Now(), err)
			return nil, err
		}
		return g.arrivals.begin(ctx, info.FullMethodName, log)
	}
}

// InFlight is how many calls are in flight, those included whose message is under way, and those of probes aside; 0 where MaxInFlight sets no bound.
func (g *Gate) InFlight() int { return len(g.admission.slots) + len(g.arrivals.places) }
