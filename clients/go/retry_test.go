package crdeval

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// busy is a connection whose first calls fail.
type busy struct {
	grpc.ClientConnInterface
	failures int
	err      error
	times    []time.Time // of the calls
}

// Invoke implements grpc.ClientConnInterface.
func (b *busy) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	b.times = append(b.times, time.Now())
	if len(b.times) <= b.failures {
		return b.err
	}
	return nil
}

// failure returns a status with an ErrorInfo and, if delay is positive, a RetryInfo.
func failure(t *testing.T, code codes.Code, reason string, delay time.Duration) error {
	t.Helper()
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: reason}}
	if delay > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	}
	st, err := status.New(code, "text").WithDetails(details...)
	if err != nil {
		t.Fatal(err)
	}
	return st.Err()
}

func TestRetries(t *testing.T) {
	overloaded := failure(t, codes.Unavailable, "OVERLOADED", 3*time.Second)
	for name, c := range map[string]struct {
		options  RetryOptions
		failures int
		err      error
		timeout  time.Duration
		attempts int
		fails    bool
		least    time.Duration // between the first and the last call
		most     time.Duration
	}{
		"success":              {attempts: 1},
		"delay of the server":  {failures: 2, err: overloaded, attempts: 3, least: 6 * time.Second, most: 6 * time.Second},
		"backoff":              {failures: 3, err: failure(t, codes.Unavailable, "OVERLOADED", 0), attempts: 4, least: 350 * time.Millisecond, most: 700 * time.Millisecond},
		"too many attempts":    {failures: 9, err: overloaded, attempts: 5, fails: true, least: 12 * time.Second, most: 12 * time.Second},
		"three attempts":       {options: RetryOptions{MaxAttempts: 3}, failures: 9, err: overloaded, attempts: 3, fails: true, least: 6 * time.Second, most: 6 * time.Second},
		"disabled":             {options: RetryOptions{MaxAttempts: 1}, failures: 9, err: overloaded, attempts: 1, fails: true},
		"bounded pause":        {options: RetryOptions{MaxPause: 100 * time.Millisecond}, failures: 4, err: failure(t, codes.Unavailable, "OVERLOADED", 0), attempts: 5, least: 200 * time.Millisecond, most: 400 * time.Millisecond},
		"short pauses":         {options: RetryOptions{MaxPause: 10 * time.Millisecond}, failures: 2, err: failure(t, codes.Unavailable, "OVERLOADED", 0), attempts: 3, least: 10 * time.Millisecond, most: 20 * time.Millisecond},
		"deadline":             {failures: 9, err: overloaded, timeout: 4 * time.Second, attempts: 2, fails: true, least: 3 * time.Second, most: 3 * time.Second},
		"another reason":       {failures: 9, err: failure(t, codes.Unavailable, "STORE_UNAVAILABLE", 0), attempts: 1, fails: true},
		"another code":         {failures: 9, err: failure(t, codes.ResourceExhausted, "OVERLOADED", 0), attempts: 1, fails: true},
		"a lost connection":    {failures: 9, err: status.Error(codes.Unavailable, "connection refused"), attempts: 1, fails: true},
		"an error of a caller": {failures: 9, err: context.Canceled, attempts: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
				}
				b := &busy{failures: c.failures, err: c.err}
				err := retryingConn{b, c.options.withDefaults()}.Invoke(ctx, "/x/Y", nil, nil)
				if (err != nil) != c.fails || len(b.times) != c.attempts {
					t.Fatalf("%v after %d attempts, want %d", err, len(b.times), c.attempts)
				}
				if took := b.times[len(b.times)-1].Sub(b.times[0]); took < c.least || took > c.most {
					t.Errorf("the attempts took %v, want %v to %v", took, c.least, c.most)
				}
			})
		})
	}
}

// TestRetryEndsWithContext checks that a pause ends with the context of the call, whose error the call then returns.
func TestRetryEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		b := &busy{failures: 9, err: failure(t, codes.Unavailable, "OVERLOADED", 3*time.Second)}
		begin := time.Now()
		if err := (retryingConn{b, RetryOptions{}.withDefaults()}).Invoke(ctx, "/x/Y", nil, nil); status.Code(err) != codes.Canceled {
			t.Error(err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("the call ended after %v", took)
		}
	})
}
