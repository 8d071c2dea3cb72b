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

// TestCalls checks the bounds of calls for webhooks, hosts and in total.
func TestCalls(t *testing.T) {
	a, b, other, broken := &client{host: "a:1"}, &client{host: "a:1"}, &client{host: "b:1"}, &client{host: "c:1"}
	for _, c := range []*client{a, b, other} {
		c.works.Store(true)
	}
	type step struct {
		webhook *client
		calls   int    // to begin, or to end if negative
		want    string // of the error of the last, or empty
	}
	for name, steps := range map[string][]step{
		"webhooks that work": {
			{a, 6, ""},
			{a, 1, "6 calls of this webhook of a:1 are in flight, the limit: try again later, or raise --max-in-flight"},
			{b, 1, ""},
			{other, 1, ""},
			{other, 1, "8 calls of conversion webhooks are in flight, the limit: try"},
			{a, -1, ""},
			{other, 1, ""},
		},
		"webhooks that do not work": {
			{broken, 3, ""},
			{broken, 1, "3 calls of this webhook of c:1 are in flight, the limit for webhooks that do not answer: try"},
			{&client{host: "d:1"}, 1, ""},
			{&client{host: "e:1"}, 1, "4 calls of conversion webhooks are in flight, the limit for webhooks that do not answer: try"},
			{a, 4, ""},
		},
	} {
		l := newLoad(8, 100)
		for i, s := range steps {
			var err error
			for range s.calls {
				if err == nil {
					err = l.begin(s.webhook)
				}
			}
			if s.calls < 0 {
				l.end(s.webhook)
			}
			checkFailure(t, fmt.Sprintf("%s, step %d", name, i), err, Busy, s.want)
		}
	}
}

// checkFailure checks the outcome of an error and the start of its text. If want is empty, err must be nil.
func checkFailure(t *testing.T, name string, err error, outcome Outcome, want string) {
	t.Helper()
	var f *failure
	if want == "" != (err == nil) || err != nil && (!strings.HasPrefix(err.Error(), want) || !errors.As(err, &f) || f.outcome != outcome) {
		t.Errorf("%s: %v, want %s: %q", name, err, outcome, want)
	}
}

// TestMemory checks the bounds of the memory for responses, for batches, hosts and in total.
func TestMemory(t *testing.T) {
	const share = "responses of a need more than 100 bytes of memory, the limit for a host: try again later, or send fewer objects"
	total := func(host string, limit int) string {
		return fmt.Sprintf("responses of %s and other hosts need more than %d bytes of memory, the limit: try again later, or send fewer objects", host, limit)
	}
	type step struct {
		batch   int
		host    string
		bytes   int64 // to take, or to give if negative
		outcome Outcome
		want    string // of the error, or empty
	}
	for name, steps := range map[string][]step{
		"several batches": {
			{1, "a", 80, "", ""},
			{2, "a", 20, "", ""},
			{2, "a", 1, Busy, share},
			{1, "a", 1, Busy, share},
			{3, "b", 100, "", ""},
			{2, "a", -20, "", ""},
			{1, "a", 20, "", ""},
			{1, "a", 50, "", ""},
		},
		"one batch": {
			{1, "a", 150, "", ""},
			{1, "a", 150, "", ""},
			{1, "a", 1, TooLarge, "the responses of a to this request need more than 300 bytes of memory, the limit: send fewer objects, or smaller ones"},
			{2, "a", 1, Busy, share},
			{1, "b", 50, "", ""},
		},
		"a large batch leaves memory to other hosts": {
			{1, "a", 300, "", ""},
			{2, "b", 100, "", ""},
			{3, "c", 1, Busy, total("c", 400)},
			{2, "b", -50, "", ""},
			{2, "b", 51, Busy, total("b", 300)},
		},
		"a batch with several hosts": {
			{1, "a", 50, "", ""},
			{2, "b", 60, "", ""},
			{1, "b", 41, Busy, strings.Replace(share, "of a", "of b", 1)},
			{1, "a", 191, Busy, total("a", 300)},
			{1, "a", 190, "", ""},
		},
	} {
		l := newLoad(8, 100)
		batches := map[int]*reservation{}
		for i, s := range steps {
			r := batches[s.batch]
			if r == nil {
				r = &reservation{}
				batches[s.batch] = r
			}
			if s.bytes < 0 {
				r.give(s.host, -s.bytes)
				continue
			}
			checkFailure(t, fmt.Sprintf("%s, step %d", name, i), r.take(&l, s.host, s.bytes), s.outcome, s.want)
		}
		for _, r := range batches {
			r.release()
		}
		if len(l.memory) != 0 {
			t.Errorf("%s: %v", name, l.memory)
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
		{1, calls * 3 / 4 / 2, "15 calls of this webhook of 127.0.0.1:"},
		{1000, calls / 2, "20 calls of conversion webhooks are in flight, the limit for webhooks that do not answer: try again later"},
	} {
		entered, release := make(chan struct{}, calls), make(chan struct{})
		w := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/hang") {
				entered <- struct{}{}
				<-release
			}
			answer(func(*conversionReview) {})(w, r)
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
		if len(c.load.calls) != 0 {
			t.Errorf("%+v", c.load.calls)
		}
	}
}

// padded returns a webhook whose response has n more bytes than an honest one.
func padded(n int) http.HandlerFunc {
	return answer(func(r *conversionReview) { r.Response.ConvertedObjects[0]["padding"] = strings.Repeat("x", n) })
}

// TestResponseMemory checks that a batch holds the memory of large responses until its end, and that small ones need none.
func TestResponseMemory(t *testing.T) {
	c := local(t, Options{MaxResponseBytes: 1 << 20})
	large, small := serve(t, padded(800<<10)), serve(t, padded(1<<10))
	_ = run(t.Context(), 1, 1, func(ctx context.Context, _ int) {
		if _, err := c.Convert(ctx, request(large, first)); err != nil {
			t.Error(err)
		}
		if _, err := c.Convert(t.Context(), request(large, first)); err == nil || !strings.Contains(err.Error(), "need more than 1048576 bytes of memory, the limit for a host") {
			t.Errorf("another batch: %v", err)
		}
		if _, err := c.Convert(t.Context(), request(small, first)); err != nil {
			t.Errorf("a small response: %v", err)
		}
		if _, err := c.Convert(ctx, request(large, first)); err == nil || !strings.Contains(err.Error(), "need more than 3145728 bytes of memory, the limit") {
			t.Errorf("the same batch: %v", err)
		}
	})
	if len(c.load.memory) != 0 {
		t.Errorf("%+v", c.load.memory)
	}
	if _, err := c.Convert(t.Context(), request(large, first)); err != nil {
		t.Errorf("another batch: %v", err)
	}
}

// TestManyLargeResponses checks that parallel batches with large responses, or with small ones that need much memory when
// parsed, fail or succeed within the bound of memory.
func TestManyLargeResponses(t *testing.T) {
	dense := answer(func(r *conversionReview) { r.Response.ConvertedObjects[0]["list"] = make([]int, 20_000) }) // weighs 2.5 MB
	for _, webhook := range []http.HandlerFunc{padded(800 << 10), dense} {
		c := local(t, Options{MaxResponseBytes: 1 << 20})
		w := serve(t, webhook)
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
				if n := c.load.memory[""]; n > 3<<20 {
					t.Errorf("%d bytes", n)
				}
			})
		}
		all.Wait()
		if _, err := c.Convert(t.Context(), request(w, first)); err != nil || len(c.load.memory) != 0 {
			t.Error(err, c.load.memory)
		}
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
	}{{"0", items}, {dense, (160<<20)/(12<<20) + workers}} {
		c := local(t, Options{})
		w := serve(t, answer(func(*conversionReview) {}))
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
		_ = run(t.Context(), workers, n, func(ctx context.Context, _ int) {
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
	_ = run(t.Context(), 2, 10, func(ctx context.Context, i int) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(expire, cancel)()
		if _, err := c.Convert(ctx, request(w, numbered(i))); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-ended
	if o := <-outcomes; o != Cancelled {
		t.Error(o)
	}
}
