package conversion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestLoad checks the bounds of calls and of memory for webhooks, hosts and in total.
func TestLoad(t *testing.T) {
	a, b, other, broken := &client{host: "a:1"}, &client{host: "a:1"}, &client{host: "b:1"}, &client{host: "c:1"}
	for _, c := range []*client{a, b, other} {
		c.works.Store(true)
	}
	type step struct {
		webhook *client
		usage   usage
		own     int64
		want    string // of the error, or empty
	}
	for name, steps := range map[string][]step{
		"calls": {
			{a, usage{calls: 6}, 0, ""},
			{a, usage{calls: 1}, 0, "6 calls of this webhook are in flight, the limit: try again later"},
			{b, usage{calls: 1}, 0, ""},
			{other, usage{calls: 1}, 0, ""},
			{other, usage{calls: 1}, 0, "8 calls of webhooks are in flight, the limit: try again later"},
			{a, usage{calls: -1}, 0, ""},
			{other, usage{calls: 1}, 0, ""},
		},
		"calls of webhooks that do not work": {
			{broken, usage{calls: 3}, 0, ""},
			{broken, usage{calls: 1}, 0, "3 calls of this webhook are in flight, the limit: try again later"},
			{&client{host: "d:1"}, usage{calls: 1}, 0, ""},
			{&client{host: "e:1"}, usage{calls: 1}, 0, "4 calls of webhooks are in flight, the limit: try again later"},
			{a, usage{calls: 4}, 0, ""},
		},
		"bytes of several batches": {
			{a, usage{bytes: 20}, 0, ""},
			{b, usage{bytes: 5}, 0, ""},
			{b, usage{bytes: 1}, 5, "responses of a:1 take more than 25 bytes, the limit"},
			{other, usage{bytes: 25}, 0, ""},
			{b, usage{bytes: -5}, 0, ""},
			{a, usage{bytes: 5}, 20, ""},
		},
		"bytes of one batch": {
			{a, usage{bytes: 50}, 0, ""},
			{a, usage{bytes: 50}, 50, ""},
			{a, usage{bytes: 1}, 100, "responses of a:1 take more than 100 bytes, the limit"},
			{b, usage{bytes: 1}, 0, "responses of a:1 take more than 25 bytes, the limit"},
			{other, usage{bytes: 100}, 0, ""},
			{&client{host: "c:1"}, usage{bytes: 100}, 0, ""},
			{&client{host: "d:1"}, usage{bytes: 100}, 0, ""},
			{&client{host: "e:1"}, usage{bytes: 1}, 0, "responses of webhooks take more than 400 bytes, the limit"},
		},
	} {
		l := newLoad(8, 100)
		for i, s := range steps {
			err := l.add(s.webhook, s.usage, s.own)
			var f *failure
			if s.want == "" != (err == nil) || err != nil && (!strings.HasPrefix(err.Error(), s.want) || !errors.As(err, &f) || f.outcome != Busy) {
				t.Errorf("%s, step %d: %v, want %q", name, i, err, s.want)
			}
		}
	}
}

// TestHangingCalls checks that webhooks that hang leave calls to another one of the same host, if one of them hangs and
// if many do.
func TestHangingCalls(t *testing.T) {
	const calls = 40
	for _, e := range []struct {
		webhooks, hanging int
		want              string
	}{
		{1, calls * 3 / 4 / 2, "15 calls of this webhook are in flight, the limit: try again later"},
		{1000, calls / 2, "20 calls of webhooks are in flight, the limit: try again later"},
	} {
		entered, release := make(chan struct{}, calls), make(chan struct{})
		w := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/hang") {
				entered <- struct{}{}
				<-release
			}
			answer(func(*review) {})(w, r)
		})
		c := local(t, Options{MaxCalls: calls})
		honest := func() {
			t.Helper()
			if _, err := c.Convert(t.Context(), request(w, first)); err != nil {
				t.Error(err)
			}
		}
		hang := func(i int) error {
			url := strings.Replace(*w.ClientConfig.URL, "/convert", fmt.Sprintf("/hang%d", i%e.webhooks), 1)
			_, err := c.Convert(t.Context(), request(&apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: w.ClientConfig.CABundle},
			}, first))
			return err
		}
		honest()
		var all sync.WaitGroup
		for i := range e.hanging {
			all.Go(func() {
				if err := hang(i); err != nil {
					t.Error(err)
				}
			})
		}
		for range e.hanging {
			<-entered
		}
		for i := range 100 {
			if err := hang(e.hanging + i); err == nil || !strings.Contains(err.Error(), e.want) {
				t.Error(err)
			}
		}
		var others sync.WaitGroup
		for range calls / 2 {
			others.Go(honest)
		}
		others.Wait()
		close(release)
		all.Wait()
		if len(c.load.used) != 0 {
			t.Errorf("%+v", c.load.used)
		}
	}
}

// padded returns a webhook whose response has n more bytes than an honest one.
func padded(n int) http.HandlerFunc {
	return answer(func(r *review) { r.Response.ConvertedObjects[0]["padding"] = strings.Repeat("x", n) })
}

// TestResponseMemory checks that a batch holds the memory of large responses until its end, and that small ones need none.
func TestResponseMemory(t *testing.T) {
	c := local(t, Options{MaxResponseBytes: 1 << 20})
	large, small := serve(t, padded(800<<10)), serve(t, padded(1<<10))
	Run(t.Context(), 1, 1, func() func(context.Context, int) {
		return func(ctx context.Context, _ int) {
			if _, err := c.Convert(ctx, request(large, first)); err != nil {
				t.Error(err)
			}
			if _, err := c.Convert(t.Context(), request(large, first)); err == nil || !strings.Contains(err.Error(), "take more than 262144 bytes, the limit") {
				t.Errorf("another batch: %v", err)
			}
			if _, err := c.Convert(t.Context(), request(small, first)); err != nil {
				t.Errorf("a small response: %v", err)
			}
			if _, err := c.Convert(ctx, request(large, first)); err == nil || !strings.Contains(err.Error(), "take more than 1048576 bytes, the limit") {
				t.Errorf("the same batch: %v", err)
			}
		}
	})
	if len(c.load.used) != 0 {
		t.Errorf("%+v", c.load.used)
	}
	if _, err := c.Convert(t.Context(), request(large, first)); err != nil {
		t.Errorf("another batch: %v", err)
	}
}

// TestManyLargeResponses checks that parallel batches with large responses fail or succeed, within the bound of memory.
func TestManyLargeResponses(t *testing.T) {
	c := local(t, Options{MaxResponseBytes: 1 << 20})
	w := serve(t, padded(800<<10))
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			_, err := c.Convert(t.Context(), request(w, first))
			var f *failure
			if err != nil && (!errors.As(err, &f) || f.outcome != Busy) {
				t.Error(err)
			}
			c.load.mu.Lock()
			defer c.load.mu.Unlock()
			if n := c.load.used[nil].bytes; n > 1<<20 {
				t.Errorf("%d bytes", n)
			}
		})
	}
	all.Wait()
	if _, err := c.Convert(t.Context(), request(w, first)); err != nil || len(c.load.used) != 0 {
		t.Error(err, c.load.used)
	}
}

// TestGroupWorkers checks that no more workers run than allowed, before and after a call, and that large objects do not
// all wait at the same time.
func TestGroupWorkers(t *testing.T) {
	const items, workers = 200, 3
	dense := strings.Repeat("0,", 100_000) + "0" // weighs 12 MB
	for _, e := range []struct {
		padding string
		waiting int64 // at most
	}{{"0", items}, {dense, maxWaiting/(12<<20) + workers}} {
		c := local(t, Options{})
		w := serve(t, answer(func(*review) {}))
		var running, waiting, calls atomic.Int64
		c.o.Observe = func(ctx context.Context, _ Call) (context.Context, func(Outcome, error)) {
			calls.Add(1)
			return ctx, func(Outcome, error) {}
		}
		object := []byte(fmt.Sprintf(`{"apiVersion":"example.com/v1beta1","kind":"Thing","a":[%s]}`, e.padding))
		enter := func() {
			if n := running.Add(1); n > workers {
				t.Errorf("%d workers run", n)
			}
		}
		n := items
		if e.padding == dense {
			n = 20
		}
		Run(t.Context(), workers, n, func() func(context.Context, int) {
			return func(ctx context.Context, _ int) {
				enter()
				running.Add(-1)
				if n := waiting.Add(1); n > e.waiting {
					t.Errorf("%d objects wait", n)
				}
				_, err := c.Convert(ctx, request(w, string(object)))
				waiting.Add(-1)
				enter()
				running.Add(-1)
				if err != nil {
					t.Error(err)
				}
			}
		})
		if want := int64(1); e.padding == "0" && calls.Load() != want {
			t.Errorf("%d calls", calls.Load())
		}
	}
}

// TestAbandonedCall checks that a call ends when the deadlines of all its items have expired, and that it does not count
// as a failure of the webhook.
func TestAbandonedCall(t *testing.T) {
	expire, expired := context.WithCancel(t.Context())
	defer expired()
	ended := make(chan struct{})
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices the end of the connection
		expired()
		<-r.Context().Done()
		close(ended)
	})
	outcomes := make(chan Outcome, 1)
	c := local(t, Options{Observe: func(ctx context.Context, _ Call) (context.Context, func(Outcome, error)) {
		return ctx, func(o Outcome, _ error) { outcomes <- o }
	}})
	Run(t.Context(), 2, 10, func() func(context.Context, int) {
		return func(ctx context.Context, i int) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(expire, cancel)()
			if _, err := c.Convert(ctx, request(w, numbered(i))); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
	<-ended
	if o := <-outcomes; o != Cancelled {
		t.Error(o)
	}
}
