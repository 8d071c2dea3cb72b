package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
)

// TestBreakerOutcomes checks which failures open the circuit breaker.
func TestBreakerOutcomes(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }
	}
	for _, e := range []struct {
		name    string
		webhook http.HandlerFunc
		opens   bool
	}{
		{"500", status(500), true},
		{"503", status(503), true},
		{"closed", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true},
		{"400", status(400), false},
		{"404", status(404), false},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }, false},
		{"wrong uid", answer(func(r *conversionReview) { r.Response.UID = "x" }), false},
		{"not JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }, false},
		{"failure", answer(func(r *conversionReview) { r.Response.Result = map[string]any{"status": "Failure", "message": "no"} }), false},
		{"too large", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat(" ", 5000)) }, false},
	} {
		w := serve(t, func(w http.ResponseWriter, r *http.Request) {
			var given conversionReview
			if body, _ := io.ReadAll(r.Body); json.Unmarshal(body, &given) == nil {
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				if len(given.Request.Objects) == 2 {
					answer(func(*conversionReview) {})(w, r)
					return
				}
			}
			e.webhook(w, r)
		})
		c := local(t, Options{MaxResponseBytes: 4096})
		for range 2 * maxFailures {
			_, err := c.Convert(t.Context(), request(w, first))
			if err == nil {
				t.Fatalf("%s: no error", e.name)
			}
			if failed := errors.Is(err, conversionwebhook.ErrFailed); failed != (e.name == "failure") {
				t.Errorf("%s: %v, ErrConversionFailed: %v", e.name, err, failed)
			}
		}
		_, err := c.Convert(t.Context(), request(w, first, second))
		var f *failure
		if opened := errors.As(err, &f) && f.outcome == CircuitOpen; opened != e.opens || err != nil && !opened {
			t.Errorf("%s: %v", e.name, err)
		}
	}
}

// TestBreakerIgnoresCallers checks that calls that their callers end do not count, neither as failures nor as successes.
func TestBreakerIgnoresCallers(t *testing.T) {
	for name, ended := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"cancelled": context.WithCancel,
		"deadline":  func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 0) },
	} {
		for failures, opens := range map[int]bool{maxFailures - 2: false, maxFailures - 1: true} {
			var honest atomic.Bool
			w := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if !honest.Load() {
					http.Error(w, "no", http.StatusInternalServerError)
					return
				}
				answer(func(*conversionReview) {})(w, r)
			})
			c := local(t, Options{})
			call := func(ctx context.Context) error {
				_, err := c.Convert(ctx, request(w, first))
				return err
			}
			for range failures {
				if call(t.Context()) == nil {
					t.Errorf("%s: no error", name)
				}
			}
			for range maxFailures {
				ctx, cancel := ended(t.Context())
				cancel()
				if call(ctx) == nil {
					t.Errorf("%s: no error", name)
				}
			}
			if call(t.Context()) == nil {
				t.Errorf("%s: no error", name)
			}
			honest.Store(true)
			if err := call(t.Context()); opens != (err != nil) || err != nil && !strings.Contains(err.Error(), "its last 5 calls failed") {
				t.Errorf("%s, %d failures: %v", name, failures+1, err)
			}
		}
	}
}
