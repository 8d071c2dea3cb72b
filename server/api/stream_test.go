package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/registry"
)

// admitStream is AdmitStream with the CronTab's catalog as its first message.
func (w *wire) admitStream(ctx context.Context, first *crdevalv1.AdmitStreamRequest) grpc.BidiStreamingClient[crdevalv1.AdmitStreamRequest, crdevalv1.AdmitStreamResponse] {
	w.t.Helper()
	stream, err := w.evaluation.AdmitStream(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	if first.GetContext() == nil {
		first.Context = &crdevalv1.EvaluationContext{}
	}
	if first.GetContext().GetCatalog() == "" {
		first.Context.Catalog = "default"
	}
	if err := stream.Send(first); err != nil && !errors.Is(err, io.EOF) { // which says that the server has rejected the call already
		w.t.Fatal(err)
	}
	return stream
}

func items(objects ...string) (list []*crdevalv1.WriteItem) {
	for _, o := range objects {
		list = append(list, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(o)}}})
	}
	return list
}

// results reads a stream to its end. The indexes must be without gaps.
func results(t testing.TB, recv func() (*crdevalv1.AdmitStreamResponse, error)) (all []*crdevalv1.VerdictResult, ended error) {
	t.Helper()
	for {
		m, err := recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if m.GetFirstIndex() != int64(len(all)) || len(m.GetResults()) == 0 || len(m.GetResults()) > 100 {
			t.Fatalf("%d results from %d on, after %d", len(m.GetResults()), m.GetFirstIndex(), len(all))
		}
		all = append(all, m.GetResults()...)
	}
}

// someObject is the object of an item of a long stream, with its number in it: most are valid, some are not, some cannot be evaluated.
func someObject(i int) string {
	switch i % 17 {
	case 3:
		return cronTab(fmt.Sprintf(`{"cronSpec":"%d","replicas":0}`, i))
	case 7:
		return strings.Replace(cronTab(`{}`), "CronTab", fmt.Sprintf("Cron%d", i), 1)
	case 11:
		return cronTab(fmt.Sprintf(`{"cronSpec":"%d","extra":{"x":%q}}`, i, strings.Repeat("x", i%20000)))
	case 13:
		return fmt.Sprintf(`{"broken%d`, i)
	}
	return cronTab(fmt.Sprintf(`{"cronSpec":"%d"}`, i))
}

// isOf checks that a result is that of someObject.
func isOf(t *testing.T, i int, r *crdevalv1.VerdictResult) {
	t.Helper()
	v := r.GetVerdict()
	ok := v.GetAllowed() && strings.Contains(string(v.GetObject().GetJson()), fmt.Sprintf(`"cronSpec":"%d"`, i))
	switch i % 17 {
	case 3:
		ok = v != nil && !v.GetAllowed() && len(v.GetViolations()) == 1
	case 7:
		ok = strings.Contains(r.GetError().GetMessage(), fmt.Sprintf("Cron%d", i))
	case 13:
		ok = r.GetError() != nil
	}
	if !ok {
		t.Fatalf("%d: %v", i, r)
	}
}

// TestAdmitStream: results come in the order of the items, whatever the messages are cut into and however long each item takes.
func TestAdmitStream(t *testing.T) {
	w := start(t, nil).withCronTab()
	const n = 6000
	stream := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{Items: items(someObject(0), someObject(1))})
	r := rand.New(rand.NewPCG(1, 2))
	go func() {
		for i := 2; i < n; {
			m := &crdevalv1.AdmitStreamRequest{}
			for range 1 + r.IntN(100) {
				if i < n {
					m.Items = append(m.Items, items(someObject(i))...)
					i++
				}
			}
			if stream.Send(m) != nil {
				return
			}
		}
		_ = stream.CloseSend()
	}()
	all, err := results(t, stream.Recv)
	if err != nil || len(all) != n {
		t.Fatalf("%d results, %v", len(all), err)
	}
	for i, result := range all {
		isOf(t, i, result)
	}
}

// TestReadStream: as Read, one after the other.
func TestReadStream(t *testing.T) {
	w := start(t, nil).withCronTab()
	stream, err := w.evaluation.ReadStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&crdevalv1.ReadStreamRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, TargetVersion: "v1alpha1"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := stream.Send(&crdevalv1.ReadStreamRequest{Items: objectsOf(items(cronTab(`{"unknown":1}`), `{}`)...)}); err != nil {
			t.Fatal(err)
		}
	}
	_ = stream.CloseSend()
	for i := range 3 {
		m, err := stream.Recv()
		if err != nil || m.GetFirstIndex() != int64(2*i) || len(m.GetResults()) != 2 {
			t.Fatalf("%v, %v", m, err)
		}
		if got := string(m.GetResults()[0].GetTransformed().GetObject().GetJson()); !strings.Contains(got, `"apiVersion":"stable.example.com/v1alpha1"`) || !strings.Contains(got, `"spec":{"image":"busybox"}`) {
			t.Error(got)
		}
		if m.GetResults()[1].GetError() == nil {
			t.Errorf("%v", m.GetResults()[1])
		}
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestStreamsEnd: each error that ends a stream, and the results before it.
func TestStreamsEnd(t *testing.T) {
	w := start(t, nil).withCronTab()
	one := items(cronTab(`{}`))
	many := make([]*crdevalv1.WriteItem, 101)
	for i := range many {
		many[i] = one[0]
	}
	for _, c := range []struct {
		name     string
		messages []*crdevalv1.AdmitStreamRequest
		results  int
		reason   string // of the end
	}{
		{"no message", nil, 0, "INVALID_ARGUMENT"},
		{"no catalog", []*crdevalv1.AdmitStreamRequest{{Items: one}}, 0, "INVALID_ARGUMENT"},
		{"another catalog", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "nowhere"}, Items: one}}, 0, "CATALOG_NOT_FOUND"},
		{"a stage", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Stage: 17}}, 0, "INVALID_ARGUMENT"},
		{"an option", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "default", Options: &crdevalv1.EvaluationOptions{View: 17}}}}, 0, "INVALID_ARGUMENT"},
		{"another's token", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "default", AtLeast: "x"}}}, 0, "TOKEN_INVALID"},
		{"a CRD", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "default", Crds: []*crdevalv1.Document{jsonDocument(`{}`)}}}}, 0, "MANIFEST_UNREADABLE"},
		{"too many at first", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: many}}, 0, "LIMIT_EXCEEDED"},
		{"nothing at all", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}}, 0, ""},
		{"too many", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: one}, {Items: many[:100]}, {Items: many}, {Items: one}}, 101, "LIMIT_EXCEEDED"},
		{"none", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: one}, {}, {Items: one}}, 1, "INVALID_ARGUMENT"},
		{"the catalog again", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: one}, {Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: one}}, 1, "INVALID_ARGUMENT"},
		{"the stage again", []*crdevalv1.AdmitStreamRequest{{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: one}, {Stage: crdevalv1.AdmissionStage_ADMISSION_STAGE_ALL, Items: one}}, 1, "INVALID_ARGUMENT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream, err := w.evaluation.AdmitStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range c.messages {
				if err := stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			}
			_ = stream.CloseSend()
			all, err := results(t, stream.Recv)
			got := ""
			if err != nil {
				got = reason(t, status.Convert(err))
			}
			if len(all) != c.results || got != c.reason {
				t.Errorf("%d results, %v", len(all), err)
			}
		})
	}
}

// TestStreamsSeeRegistrations: each message is evaluated with the catalog as it is then; inline CRDs stay in force.
func TestStreamsSeeRegistrations(t *testing.T) {
	w := start(t, nil)
	alone := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{}`))})
	inline := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{"image":"9"}`)), Context: &crdevalv1.EvaluationContext{Crds: []*crdevalv1.Document{yamlDocument(strings.ReplaceAll(crontabManifest, "a-z-", "a-z0-9-"))}}})
	expect := func(name string, stream grpc.BidiStreamingClient[crdevalv1.AdmitStreamRequest, crdevalv1.AdmitStreamResponse], index int64, allowed, unknown bool) {
		t.Helper()
		m, err := stream.Recv()
		if err != nil || m.GetFirstIndex() != index || len(m.GetResults()) != 1 {
			t.Fatalf("%s: %v, %v", name, m, err)
		}
		if r := m.GetResults()[0]; (r.GetError() != nil) != unknown || r.GetVerdict().GetAllowed() != allowed {
			t.Errorf("%s: %v", name, r)
		}
	}
	expect("no CRD", alone, 0, false, true)
	expect("inline", inline, 0, true, false)
	w.withCronTab()
	for _, stream := range []grpc.BidiStreamingClient[crdevalv1.AdmitStreamRequest, crdevalv1.AdmitStreamResponse]{alone, inline} {
		if err := stream.Send(&crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{"image":"9"}`))}); err != nil {
			t.Fatal(err)
		}
	}
	expect("registered", alone, 1, false, false)
	expect("inline, and registered", inline, 1, true, false)
	if _, err := w.registry.DeleteCrd(t.Context(), &crdevalv1.DeleteCrdRequest{Catalog: "default", Crd: "crontabs.stable.example.com"}); err != nil {
		t.Fatal(err)
	}
	if err := alone.Send(&crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{}`))}); err != nil {
		t.Fatal(err)
	}
	expect("deleted", alone, 2, false, true)
}

// counting is a registry that counts the messages of streams: each asks for a view.
type counting struct {
	api.Registry
	views *atomic.Int64
}

func (c counting) View(ctx context.Context, catalog, atLeast string) (registry.View, error) {
	c.views.Add(1)
	return c.Registry.View(ctx, catalog, atLeast)
}

// stable waits until a count has not changed for a while.
func stable(t *testing.T, count *atomic.Int64) int64 {
	t.Helper()
	for last := int64(-1); ; {
		now := count.Load()
		if now == last {
			return now
		}
		last = now
		time.Sleep(300 * time.Millisecond)
	}
}

// TestBackPressure: the server does not read from a client that does not read; items and bytes in flight are bounded; nothing is lost.
func TestBackPressure(t *testing.T) {
	for _, c := range []struct {
		name              string
		messages, objects int
		bytes             int // of an object
		most              int64
	}{
		// What the connection itself holds either way, 8 MiB each, is on top of the bounds.
		{"by bytes", 150, 2, 500_000, 60},
		{"by items", 40_000, 1, 100, 30_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			var views atomic.Int64
			w := start(t, func(r api.Registry) api.Registry { return counting{r, &views} }).withCronTab()
			stream := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{})
			object := cronTab(fmt.Sprintf(`{"extra":{"x":%q}}`, strings.Repeat("x", c.bytes)))
			sent := make(chan error, 1)
			go func() {
				for range c.messages {
					m := &crdevalv1.AdmitStreamRequest{}
					for range c.objects {
						m.Items = append(m.Items, items(object)...)
					}
					if err := stream.Send(m); err != nil {
						sent <- err
						return
					}
				}
				sent <- stream.CloseSend()
			}()
			if got := stable(t, &views); got > c.most {
				t.Errorf("%d messages were received of %d", got, c.messages)
			} else {
				t.Logf("%d messages were received of %d", got, c.messages)
			}
			all, err := results(t, stream.Recv)
			if err != nil || len(all) != c.messages*c.objects {
				t.Fatalf("%d results, %v", len(all), err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			for i, r := range all {
				if !r.GetVerdict().GetAllowed() {
					t.Fatalf("%d: %v", i, r)
				}
			}
		})
	}
}

// TestStreamsOfLargeResults: results that do not fit beside others are returned too.
func TestStreamsOfLargeResults(t *testing.T) {
	w := start(t, nil).withCronTab() // a message has 8 MiB, the results that wait 4
	object := cronTab(fmt.Sprintf(`{"extra":{"x":%q}}`, strings.Repeat("x", 1_500_000)))
	stream := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{})
	go func() {
		for range 10 {
			if stream.Send(&crdevalv1.AdmitStreamRequest{Items: items(object, object, object, object, object)}) != nil {
				return
			}
		}
		_ = stream.CloseSend()
	}()
	all, err := results(t, stream.Recv)
	if err != nil || len(all) != 50 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	for i, r := range all {
		if !r.GetVerdict().GetAllowed() || len(r.GetVerdict().GetObject().GetJson()) < 1_500_000 {
			t.Fatalf("%d: %.300v", i, r)
		}
	}
}

// TestStreamsDrain checks that a draining server answers the received items and ends every stream with OVERLOADED.
func TestStreamsDrain(t *testing.T) {
	draining := make(chan struct{})
	w := startWith(t, nil, func(o *api.Options) { o.Draining = draining }).withCronTab()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	silent, err := w.evaluation.AdmitStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stream := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{}`), cronTab(`{}`))})
	if m, err := stream.Recv(); err != nil || len(m.GetResults()) != 2 {
		t.Fatalf("%v, %v", m, err)
	}
	close(draining)
	if _, err := stream.Recv(); reason(t, status.Convert(err)) != "OVERLOADED" || !strings.Contains(err.Error(), "shutting down") {
		t.Error(err)
	}
	late := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{})
	if _, err := late.Recv(); reason(t, status.Convert(err)) != "OVERLOADED" {
		t.Error(err)
	}
	if _, err := silent.Recv(); reason(t, status.Convert(err)) != "OVERLOADED" || !strings.Contains(err.Error(), "shutting down") {
		t.Error(err)
	}
}

// TestStreamsDrainWhileSent: a client that sends without end does not delay the shutdown; received items have results.
func TestStreamsDrainWhileSent(t *testing.T) {
	draining := make(chan struct{})
	w := startWith(t, nil, func(o *api.Options) { o.Draining = draining }).withCronTab()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream := w.admitStream(ctx, &crdevalv1.AdmitStreamRequest{})
	go func() {
		for stream.Send(&crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{}`), cronTab(`{}`))}) == nil {
		}
	}()
	time.AfterFunc(100*time.Millisecond, func() { close(draining) })
	if all, err := results(t, stream.Recv); reason(t, status.Convert(err)) != "OVERLOADED" {
		t.Errorf("%d results, %v", len(all), err)
	}
}

// TestStreamSlotsAreReleased: the streams are limited, and one that is cancelled or has timed out releases its slot.
func TestStreamSlotsAreReleased(t *testing.T) {
	var counted atomic.Int64
	w := startWith(t, nil, func(o *api.Options) { o.Limits.MaxStreams, o.Rejected = 1, func() { counted.Add(1) } }).withCronTab()
	ctx, cancel := context.WithCancel(t.Context())
	first := w.admitStream(ctx, &crdevalv1.AdmitStreamRequest{})
	if _, err := first.Header(); err != nil {
		t.Fatal(err)
	}
	rejected := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{})
	if _, err := rejected.Recv(); reason(t, status.Convert(err)) != "OVERLOADED" || !strings.Contains(err.Error(), "max_streams_per_caller") {
		t.Error(err)
	}
	if n := counted.Load(); n != 1 {
		t.Errorf("%d rejections counted, want 1", n)
	}
	for range 5 {
		_ = first.Send(&crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{}`))})
	}
	cancel()
	if _, err := results(t, first.Recv); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	var second grpc.BidiStreamingClient[crdevalv1.AdmitStreamRequest, crdevalv1.AdmitStreamResponse]
	for timeout := 300 * time.Millisecond; second == nil; timeout *= 10 { // the slot is released after the result
		if timeout > patience {
			t.Fatal("the slot was not released")
		}
		short, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		for second == nil && short.Err() == nil {
			stream, err := w.evaluation.AdmitStream(short)
			if err != nil || stream.Send(&crdevalv1.AdmitStreamRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}) != nil {
				continue
			}
			if header, err := stream.Header(); err == nil && header != nil {
				second = stream
			}
		}
	}
	if _, err := results(t, second.Recv); status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		third := w.admitStream(ctx, &crdevalv1.AdmitStreamRequest{})
		_ = third.CloseSend()
		if _, err := third.Recv(); errors.Is(err, io.EOF) {
			return
		}
	}
	t.Error("the slot was not released")
}

// TestStreamMessageAndBatch: a message of a stream may have more items than a call, and none of them gets lost.
func TestStreamMessageAndBatch(t *testing.T) {
	w := startWith(t, nil, func(o *api.Options) { o.Limits.MaxBatchItems = 5 }).withCronTab()
	for _, c := range []struct {
		items int
		limit string
	}{{100, ""}, {101, "max_stream_items"}} {
		objects := make([]string, c.items)
		for i := range objects {
			objects[i] = cronTab(`{}`)
		}
		stream := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{})
		if err := stream.Send(&crdevalv1.AdmitStreamRequest{Items: items(objects...)}); err != nil {
			t.Fatal(err)
		}
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		all, err := results(t, stream.Recv)
		if got := api.ErrorInfoOf(status.Convert(err).Proto()).GetMetadata()["limit"]; got != c.limit || err == nil && len(all) != c.items {
			t.Errorf("%d items: %d results, %v", c.items, len(all), err)
		}
	}
}
