package conversion

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/sony/gobreaker/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
)

// Outcome is the result of a call of a webhook.
type Outcome string

// The outcomes. After Unreachable, TimedOut and ServerError, the webhook counts as failing.
const (
	Converted Outcome = "converted"
	// Unreachable: the connection failed or was closed, or its certificate is not valid.
	Unreachable Outcome = "unreachable"
	// TimedOut: the response was not complete within Options.Timeout.
	TimedOut Outcome = "timeout"
	// ServerError: the HTTP status is 500 or higher.
	ServerError Outcome = "server_error"
	// HTTPError: the HTTP status is neither a success nor at least 500, such as a redirect.
	HTTPError Outcome = "http_error"
	// Invalid: the response is not a ConversionReview for the request.
	Invalid Outcome = "invalid"
	// TooLarge: the response exceeds a limit.
	TooLarge Outcome = "too_large"
	// Failed: the webhook reported that it could not convert.
	Failed Outcome = "failed"
	// Forbidden: the host may not be called.
	Forbidden Outcome = "forbidden"
	// Busy: too many calls were in flight, or their responses took too much memory.
	Busy Outcome = "busy"
	// CircuitOpen: the webhook was not called, because its last calls failed.
	CircuitOpen Outcome = "circuit_open"
	// Cancelled: the caller ended the call, or its deadline expired before Options.Timeout.
	Cancelled Outcome = "cancelled"
)

// Sent reports whether the webhook was called.
func (o Outcome) Sent() bool { return o != Forbidden && o != Busy && o != CircuitOpen }

// failure is an error with its outcome.
type failure struct {
	outcome Outcome
	error
}

// Unwrap returns the error.
func (f *failure) Unwrap() error { return f.error }

// isOutage reports whether the webhook counts as failing.
func (f *failure) isOutage() bool {
	return f.outcome == Unreachable || f.outcome == TimedOut || f.outcome == ServerError
}

// outcomeOf returns the outcome of a call. ctx is the context of the caller.
func outcomeOf(ctx context.Context, err error) Outcome {
	var f *failure
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return Converted
	case errors.As(err, &f):
		return f.outcome
	case errors.Is(err, conversionwebhook.ErrFailed):
		return Failed
	case ctx.Err() != nil:
		return Cancelled
	case isTimeout(err):
		return TimedOut
	case errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError:
		return ServerError
	case errors.As(err, &status):
		return HTTPError
	case errors.As(err, new(*url.Error)):
		return Unreachable
	}
	return Invalid
}

// isTimeout reports whether an error is that of an expired deadline.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// newBreaker returns the circuit breaker of a webhook. Only outages open it. Calls that the caller or a limit ended do
// not count.
func newBreaker() *gobreaker.CircuitBreaker[any] {
	return gobreaker.NewCircuitBreaker[any](gobreaker.Settings{
		Timeout:     recovery,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= maxFailures },
		IsSuccessful: func(err error) bool {
			var f *failure
			return !errors.As(err, &f) || !f.isOutage()
		},
		IsExcluded: func(err error) bool {
			var f *failure
			return errors.As(err, &f) && (f.outcome == Cancelled || f.outcome == Busy || f.outcome == Forbidden)
		},
	})
}
