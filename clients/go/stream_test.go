package crdeval_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

func dialed(t *testing.T, o ...crdeval.Option) (*replaceable, *crdeval.Client) {
	t.Helper()
	server := start(t, "--store=memory", "--drain-timeout=1m")
	c, err := crdeval.Dial(server.address, o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.RegisterCRD(t.Context(), named("things", "")); err != nil {
		t.Fatal(err)
	}
	return server, c
}

func thing(i int) *crdevalv1.WriteItem {
	kind := "Things"
	if i%10 == 3 {
		kind = "Unknown"
	}
	return crdeval.Create(fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":%q,"metadata":{"name":"t%d","namespace":"default"},"extra":1}`, kind, i))
}

func things(n int, taken *atomic.Int64) iter.Seq[*crdevalv1.WriteItem] {
	return func(yield func(*crdevalv1.WriteItem) bool) {
		for i := range n {
			if !yield(thing(i)) {
				return
			}
			taken.Add(1)
		}
	}
}

// TestAdmitStream checks that results are in order and include errors of items, and that a single item is answered
// immediately.
func TestAdmitStream(t *testing.T) {
	_, c := dialed(t)
	var taken atomic.Int64
	i := 0
	for r, err := range c.AdmitStream(t.Context(), things(5000, &taken), crdeval.AdmitOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if i%10 == 3 {
			if r.Err == nil || r.Allowed() {
				t.Fatalf("%d: %v", i, r)
			}
		} else if !r.Allowed() || !strings.Contains(string(r.Object()), fmt.Sprintf(`"t%d"`, i)) || strings.Contains(string(r.Object()), "extra") {
			t.Fatalf("%d: %v", i, r)
		}
		i++
	}
	if i != 5000 {
		t.Errorf("%d results", i)
	}

	one := make(chan *crdevalv1.WriteItem)
	next, stop := iter.Pull2(c.AdmitStream(t.Context(), func(yield func(*crdevalv1.WriteItem) bool) {
		for item := range one {
			if !yield(item) {
				return
			}
		}
	}, crdeval.AdmitOptions{Stage: crdevalv1.AdmissionStage_ADMISSION_STAGE_DECODE}))
	defer stop()
	for range 3 {
		go func() { one <- thing(0) }()
		if r, err, more := next(); err != nil || !more || !r.Allowed() {
			t.Fatalf("%v, %v", r, err)
		}
	}
	close(one)
	if _, _, more := next(); more {
		t.Error("a result of nothing")
	}
}

func TestReadStream(t *testing.T) {
	_, c := dialed(t)
	var taken atomic.Int64
	i := 0
	objects := func(yield func(*crdevalv1.ObjectItem) bool) {
		for m := range things(250, &taken) {
			if !yield(&crdevalv1.ObjectItem{Object: m.GetCreate().GetObject()}) {
				return
			}
		}
	}
	for r, err := range c.ReadStream(t.Context(), objects, crdeval.ReadOptions{TargetVersion: "v1"}) {
		if err != nil || (r.Err != nil) != (i%10 == 3) || r.Err == nil && !r.GetChanged() {
			t.Fatalf("%d: %v, %v", i, r, err)
		}
		i++
	}
	if i != 250 {
		t.Errorf("%d results", i)
	}
}

// TestStreamsEndEarly checks that a stream reads no more items after its loop ends, and yields its error last.
func TestStreamsEndEarly(t *testing.T) {
	server, c := dialed(t)
	var taken atomic.Int64
	ended := make(chan struct{})
	items := func(yield func(*crdevalv1.WriteItem) bool) {
		defer close(ended)
		things(10_000_000, &taken)(yield)
	}
	for _, err := range c.AdmitStream(t.Context(), items, crdeval.AdmitOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	before := taken.Load()
	<-ended
	if after := taken.Load(); after > before+itemsBehind {
		t.Errorf("%d items were taken, and then %d", before, after)
	}

	last := func(results iter.Seq2[crdeval.Result, error]) (n int, ended error) {
		for _, err := range results {
			if ended = err; err == nil {
				n++
			}
		}
		return n, ended
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if n, err := last(c.AdmitStream(ctx, things(10_000_000, &taken), crdeval.AdmitOptions{})); status.Code(errors.Unwrap(err)) != codes.DeadlineExceeded &&
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d results, %v", n, err)
	}
	invalid := c.AdmitStream(t.Context(), slices.Values([]*crdevalv1.WriteItem{thing(0)}), crdeval.AdmitOptions{Stage: 17})
	if n, err := last(invalid); n != 0 || status.Code(errors.Unwrap(err)) != codes.InvalidArgument {
		t.Errorf("%d results, %v", n, err)
	}

	// A server that shuts down ends the stream with an error after the results that it has sent.
	answered, stopped := 0, make(chan struct{})
	for _, err := range c.AdmitStream(t.Context(), things(10_000_000, &taken), crdeval.AdmitOptions{}) {
		if answered++; answered == 1000 {
			go func() {
				defer close(stopped)
				server.stop()
			}()
		}
		if err != nil && status.Code(errors.Unwrap(err)) != codes.Unavailable {
			t.Error(err)
		}
	}
	<-stopped
}

// itemsBehind is the maximum number of items that may be read after a loop has ended, because they are buffered.
const itemsBehind = 2
