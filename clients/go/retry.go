package crdeval

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// RetryOptions configure WithRetries. The zero value is the default of Dial.
type RetryOptions struct {
	// MaxAttempts bounds the attempts of a call, including the first. 1 disables retries. Default: 5.
	MaxAttempts int
	// FirstPause is the pause before the second attempt. The pause doubles with each attempt, and half of it is random.
	// Default: 100 ms.
	FirstPause time.Duration
	// MaxPause limits the pause, except that the pause is at least the retry delay of the server. Default: 10 s.
	MaxPause time.Duration
}

// WithRetries changes how the client retries calls that the server rejects with OVERLOADED. Such calls had no effect.
// The client waits at least for the retry delay of the server. If the pause would exceed the deadline of the call, the
// call returns the error of the last attempt. Other errors and streams are not retried. Dial returns an error for
// negative options.
func WithRetries(o RetryOptions) Option { return func(s *settings) { s.retries = o } }

func (o RetryOptions) withDefaults() RetryOptions {
	if o.MaxAttempts == 0 {
		o.MaxAttempts = 5
	}
	if o.FirstPause == 0 {
		o.FirstPause = firstPause
	}
	if o.MaxPause == 0 {
		o.MaxPause = longPause
	}
	return o
}

// retryingConn repeats unary calls that are rejected with OVERLOADED.
type retryingConn struct {
	grpc.ClientConnInterface
	options RetryOptions
}

// Invoke implements grpc.ClientConnInterface.
func (c retryingConn) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	pause := min(c.options.FirstPause, c.options.MaxPause)
	for attempt := 1; ; attempt++ {
		err := c.ClientConnInterface.Invoke(ctx, method, args, reply, options...)
		delay, overloaded := overloadDelay(err)
		if !overloaded || attempt >= c.options.MaxAttempts {
			return err
		}
		wait := max(jitter(pause), delay)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
		pause = min(2*pause, c.options.MaxPause)
	}
}

// jitter returns a random duration between half of d and d.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(max(d/2, 1)) //nolint:gosec // no secret
}

// overloadDelay reports whether err is a rejection with OVERLOADED, and returns the retry delay that the server gives.
func overloadDelay(err error) (delay time.Duration, overloaded bool) {
	if status.Code(err) != codes.Unavailable {
		return 0, false
	}
	for _, detail := range status.Convert(err).Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			overloaded = d.GetReason() == "OVERLOADED"
		case *errdetails.RetryInfo:
			delay = d.GetRetryDelay().AsDuration()
		}
	}
	return delay, overloaded
}
