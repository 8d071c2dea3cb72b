package transport

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// How long the message of a call may be under way: as long as the body of a REST request, which is this and a second for every 512 KiB; of a message nobody
// knows how long it will be, but for the longest that there may be. A probe's is empty. Once the server drains, nobody waits longer for what has not come.
const (
	arrivalTime      = 30 * time.Second
	arrivalBytes     = 512 << 10
	probeArrivalTime = 5 * time.Second
	drainArrivalTime = 2 * time.Second
)

// arrivalTick is how often the server looks whether a message may still be under way: in between, memory grows by what a client can send.
const arrivalTick = 100 * time.Millisecond

// probesAtOnce bounds the probes whose message is under way: anybody may probe, without a token.
const probesAtOnce = 32

// arrivals bounds the calls whose message is under way. gRPC asks interceptors, and so admission, only when it is there; until then it takes memory for
// it all the same.
type arrivals struct {
	places   chan struct{} // of all calls but probes; nil: no bound on their number
	probes   chan struct{}
	patience time.Duration // of all calls but probes
	pressure func() bool   // nil: memory is not looked at
	refused  func()
	draining atomic.Pointer[time.Time] // since when; nil: not
}

func newArrivals(maxInFlight int, pressure func() bool, refused func()) *arrivals {
	a := &arrivals{patience: arrivalTime, probes: make(chan struct{}, probesAtOnce), pressure: pressure, refused: refused}
	if maxInFlight > 0 {
		a.places = make(chan struct{}, maxInFlight)
	}
	return a
}

// upTo has messages of up to so many bytes come.
func (a *arrivals) upTo(maxMessageBytes int) {
	a.patience = arrivalTime + time.Duration(maxMessageBytes/arrivalBytes)*time.Second
}

// begin takes a place for a call whose headers have come. The context it returns is the call's; it ends when the message comes too slowly.
func (a *arrivals) begin(ctx context.Context, method string, log accessLog) (context.Context, error) {
	places, patience := a.places, a.patience
	if isProbe(method) {
		places, patience = a.probes, probeArrivalTime
	}
	if places != nil {
		select {
		case places <- struct{}{}:
		default:
			a.refused()
			return nil, refusal(codes.Unavailable, "OVERLOADED",
				fmt.Sprintf("the messages of %d calls are under way to the server, as many as it takes: try again later, or raise --max-in-flight", cap(places)),
				map[string]string{"limit": "max_in_flight", "maximum": fmt.Sprint(cap(places))})
		}
	}
	c := &arrival{of: a, places: places, began: time.Now(), patience: patience, method: method, log: log}
	c.Context, c.cancel = context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(arrivalTick, c.look)
	c.forget = context.AfterFunc(ctx, func() { c.end() })
	return c, nil
}

// drain has what is under way come soon, or not at all.
func (a *arrivals) drain() {
	now := time.Now()
	a.draining.CompareAndSwap(nil, &now)
}

// arrival is the context of a call, and its message under way.
type arrival struct {
	context.Context //nolint:containedctx // it is one
	cancel          context.CancelFunc
	of              *arrivals
	places          chan struct{}
	began           time.Time
	patience        time.Duration
	method          string
	log             accessLog
	late            atomic.Bool

	mu     sync.Mutex
	timer  *time.Timer
	forget func() bool
	ended  bool
}

type arrivalKey struct{}

// Value implements context.Context.
func (c *arrival) Value(key any) any {
	if _, is := key.(arrivalKey); is {
		return c
	}
	return c.Context.Value(key)
}

// Err implements context.Context: gRPC makes the call's status of it.
func (c *arrival) Err() error {
	err := c.Context.Err()
	if err != nil && c.late.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// look cuts the call off if its message has been under way for too long, or memory is short.
func (c *arrival) look() {
	patience, draining := c.patience, c.of.draining.Load()
	began := c.began
	if draining != nil && patience > drainArrivalTime {
		patience, began = drainArrivalTime, *draining
	}
	switch {
	case c.of.pressure != nil && c.of.pressure():
		c.cut(false)
	case time.Since(began) > patience:
		c.cut(true)
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.ended {
			c.timer.Reset(arrivalTick)
		}
	}
}

func (c *arrival) cut(late bool) {
	if !c.end() {
		return // it has come in this very moment
	}
	c.of.refused()
	text := "the server is short of memory, and the message was still under way"
	if late {
		text = "the message was under way for too long"
	}
	c.log.record(c, c.method, c.began, refusal(codes.Unavailable, "OVERLOADED", text, nil))
	c.late.Store(late)
	c.cancel()
}

// end gives the place back: the message is there, or the call is over. False: somebody has done so before.
func (c *arrival) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.ended = true
	c.timer.Stop()
	c.forget()
	if c.places != nil {
		<-c.places
	}
	return true
}

// arrived says that the message of a call is there.
func arrived(ctx context.Context) {
	if c, under := ctx.Value(arrivalKey{}).(*arrival); under {
		c.end()
	}
}

func arrivedUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	arrived(ctx)
	return handler(ctx, req)
}

// arrivedStream leaves streams of messages to whoever reads them; the one message of the others is read behind the interceptors.
func arrivedStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if info.IsClientStream {
		arrived(ss.Context())
	} else {
		ss = &arrivingStream{ss}
	}
	return handler(srv, ss)
}

// arrivingStream is a stream whose caller sends one message.
type arrivingStream struct{ grpc.ServerStream }

// RecvMsg implements grpc.ServerStream.
func (s *arrivingStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	arrived(s.Context())
	return err
}
