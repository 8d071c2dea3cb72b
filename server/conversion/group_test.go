package conversion

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/server/flow"
)

// batch converts n objects on two workers, as the service does, and returns the result or the error of each.
func batch(ctx context.Context, c *Client, w *apiextensionsv1.WebhookConversion, n int,
	object func(i int) string) []string {
	results := make([]string, n)
	_ = run(ctx, 2, n, func(ctx context.Context, i int) {
		replies, err := c.Convert(ctx, request(w, object(i)))
		if err != nil {
			results[i] = err.Error()
		} else {
			results[i] = string(replies[0])
		}
	})
	return results
}

// run evaluates a batch as the service does.
func run(ctx context.Context, workers, n int, evaluate func(ctx context.Context, i int)) error {
	s := flow.New(flow.Options{Seats: workers})
	return s.RunItems(ctx, workers, n, func(_ context.Context, w *flow.Work) func(int) {
		return func(i int) {
			if err := w.Item(func(ctx context.Context) error { evaluate(ctx, i); return nil }); err != nil {
				evaluate(ctx, i) // the context has ended
			}
		}
	})
}

func numbered(i int) string { return fmt.Sprintf(`{"apiVersion":"example.com/v1beta1","i":%d}`, i) }

// TestGroup checks that the objects of a batch share calls and that each gets its own answer.
func TestGroup(t *testing.T) {
	for n, want := range map[int]int64{1: 1, 2: 1, 3: 1, 1000: 1, 1001: 2, 2500: 3} {
		var calls atomic.Int64
		w := serve(t, answer(func(r *conversionReview) {
			calls.Add(1)
			if len(r.Response.ConvertedObjects) > MaxObjects {
				t.Errorf("%d objects in a call", len(r.Response.ConvertedObjects))
			}
		}))
		for i, got := range batch(t.Context(), local(t, Options{}), w, n, numbered) {
			var o struct {
				APIVersion string
				I          int
			}
			if err := json.Unmarshal([]byte(got), &o); err != nil || o.I != i || o.APIVersion != "example.com/v1" {
				t.Fatalf("%d of %d: %s", i, n, got)
			}
		}
		if calls.Load() != want {
			t.Errorf("%d objects: %d calls, want %d", n, calls.Load(), want)
		}
	}
}

// TestGroupFails checks that each object of a failed call gets its error.
func TestGroupFails(t *testing.T) {
	for _, e := range []struct {
		webhook http.HandlerFunc
		want    string
	}{
		{func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) }, "broken"},
		{answer(func(r *conversionReview) { r.Response.ConvertedObjects = r.Response.ConvertedObjects[1:] }),
			"returned 9 objects, expected 10"},
	} {
		for i, got := range batch(t.Context(), local(t, Options{}), serve(t, e.webhook), 10, numbered) {
			if !strings.Contains(got, e.want) {
				t.Errorf("%d: %q, want %q", i, got, e.want)
			}
		}
	}
}

// TestGroupCancelled checks that a batch ends with its context.
func TestGroupCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices the end of the connection
		cancel()
		<-r.Context().Done()
	})
	for i, got := range batch(ctx, local(t, Options{}), w, 10, numbered) {
		if !strings.Contains(got, "context canceled") {
			t.Errorf("%d: %q", i, got)
		}
	}
}

// TestGroupCallPanics checks that a panic of a call is raised for each object of the call, with its own stack.
func TestGroupCallPanics(t *testing.T) {
	c := local(t, Options{Observe: panickingObserve})
	w := serve(t, answer(func(*conversionReview) {}))
	var raised atomic.Int64
	err := run(t.Context(), 2, 10, func(ctx context.Context, i int) {
		defer func() {
			if p, is := recover().(*host.PanicError); is && strings.Contains(string(p.Stack), "panickingObserve") {
				raised.Add(1)
			}
		}()
		_, _ = c.Convert(ctx, request(w, numbered(i)))
	})
	if err != nil || raised.Load() != 10 {
		t.Errorf("%d panics, %v", raised.Load(), err)
	}
}

func panickingObserve(context.Context, Call) (context.Context, func(Outcome, error)) { panic("ouch") }
