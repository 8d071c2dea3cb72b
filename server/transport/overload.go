package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
)

// An overloadError rejects a call because of load. In an overload, most calls get one. So it is built once for many
// calls.
type overloadError struct{ status *status.Status }

// Error implements error.
func (e *overloadError) Error() string { return e.status.Err().Error() }

// GRPCStatus returns the status. gRPC calls it.
func (e *overloadError) GRPCStatus() *status.Status { return e.status }

// overloaded returns the error of a call rejected because of load. delay is that of the retry; 0: the default.
func overloaded(message string, delay time.Duration, metadata map[string]string) error {
	return &overloadError{(&api.Error{
		Reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED, Message: message, Metadata: metadata, RetryDelay: delay,
	}).GRPCStatus()}
}

// overloadedLater returns a function that returns one of some errors with a message. Their delays differ, so that not
// all callers return at the same time.
func overloadedLater(message string) func() error {
	errs := sync.OnceValue(func() (all [16]error) {
		for i := range all {
			all[i] = overloaded(message, 0, nil)
		}
		return all
	})
	return func() error { return errs()[rand.N(16)] } //nolint:gosec // no secret
}

// limitError returns the error of a call that the limiter rejects.
func limitError(r *call.Rejection) error {
	// The text is the same for all, so that the compression of headers works.
	text := "the server has no free capacity: retry later, or add replicas or cores"
	if r.Reason == call.ReasonMaxInFlight {
		text = fmt.Sprintf("the limit of %d calls in flight is reached: retry later, or raise --max-in-flight", r.Limit)
	}
	return overloaded(text, r.Delay, nil)
}

// yieldInterval is after how many rejected calls a goroutine yields. Otherwise, the goroutine of a connection could
// reject calls for 10 ms before the accepted calls continue.
const yieldInterval = 32

// overloadInterval is how often rejected calls are logged.
const overloadInterval = 10 * time.Second

// overloadLog logs rejected calls together: a line for each would take more time than the rejection.
type overloadLog struct {
	log   *slog.Logger
	calls atomic.Int64
	next  atomic.Int64 // Unix time of the next line, in nanoseconds
}

func (o *overloadLog) add(ctx context.Context, err error) {
	if o.calls.Add(1)%yieldInterval == 0 {
		runtime.Gosched()
	}
	now, next := time.Now(), o.next.Load()
	if now.UnixNano() < next || !o.next.CompareAndSwap(next, now.Add(overloadInterval).UnixNano()) {
		return
	}
	o.log.WarnContext(ctx, "calls were rejected, so their clients should retry", "calls", o.calls.Swap(0), "latest", err)
}

// isOverload reports whether an error has the reason OVERLOADED.
func isOverload(err error) bool {
	if _, is := errors.AsType[*overloadError](err); is {
		return true
	}
	st, is := status.FromError(err)
	return is && st.Code() == codes.Unavailable && api.ErrorInfoOf(st.Proto()).GetReason() == reasonOverloaded
}

var reasonOverloaded = strings.TrimPrefix(crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED.String(), "ERROR_REASON_")
