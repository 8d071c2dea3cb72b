package transport

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// admission bounds the work in flight: a call beyond the bound is refused at once, with a code that clients retry, rather than queued until
// everybody's deadline has passed.
type admission struct {
	slots    chan struct{} // nil: no bound on the number
	pressure func() bool   // nil: memory is not looked at
	refused  func()        // told of every refusal
}

func newAdmission(maxInFlight int, pressure func() bool, refused func()) admission {
	if refused == nil {
		refused = func() {}
	}
	a := admission{pressure: pressure, refused: refused}
	if maxInFlight > 0 {
		a.slots = make(chan struct{}, maxInFlight)
	}
	return a
}

func (a admission) enter(method string) (leave func(), err error) {
	if isProbe(method) {
		return func() {}, nil
	}
	if err := a.short(); err != nil {
		return nil, err
	}
	if a.slots == nil {
		return func() {}, nil
	}
	select {
	case a.slots <- struct{}{}:
		return func() { <-a.slots }, nil
	default:
		return nil, a.full()
	}
}

// check says whether there is a place and memory at this moment.
func (a admission) check() error {
	if a.slots != nil && len(a.slots) == cap(a.slots) {
		return a.full()
	}
	return a.short()
}

func (a admission) short() error {
	if a.pressure == nil || !a.pressure() {
		return nil
	}
	a.refused()
	return refusal(codes.Unavailable, "OVERLOADED", "the server is short of memory: try again later, with smaller batches, or give it more memory", nil)
}

func (a admission) full() error {
	a.refused()
	return refusal(codes.Unavailable, "OVERLOADED",
		fmt.Sprintf("the server has %d calls in flight, as many as it takes: try again later, or raise --max-in-flight", cap(a.slots)),
		map[string]string{"limit": "max_in_flight", "maximum": fmt.Sprint(cap(a.slots))})
}

func (a admission) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	leave, err := a.enter(info.FullMethod)
	if err != nil {
		return nil, err
	}
	defer leave()
	return handler(ctx, req)
}

// stream lets streams in. Those on which the server alone speaks, watches, last as long as somebody listens and do next to nothing: they take no
// place, of which the API bounds them by itself, but begin only where there is one.
func (a admission) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if !info.IsClientStream && !isProbe(info.FullMethod) {
		if err := a.check(); err != nil {
			return err
		}
		return handler(srv, ss)
	}
	leave, err := a.enter(info.FullMethod)
	if err != nil {
		return err
	}
	defer leave()
	return handler(srv, ss)
}
