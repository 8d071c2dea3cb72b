package api_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

type writing = grpc.BidiStreamingClient[crdevalv1.AdmitStreamRequest, crdevalv1.AdmitStreamResponse]

// TestIdleStreamsLoseTheirSlots: an idle stream keeps its slot until another stream needs it, whatever it waits for.
func TestIdleStreamsLoseTheirSlots(t *testing.T) {
	object := cronTab(fmt.Sprintf(`{"extra":{"x":%q}}`, strings.Repeat("x", 500_000)))
	for name, begin := range map[string]func(*testing.T, *wire) writing{
		"it waits for its first message": func(t *testing.T, w *wire) writing {
			stream, err := w.evaluation.AdmitStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return stream
		},
		"it waits for items": func(t *testing.T, w *wire) writing {
			stream := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{}`))})
			if _, err := stream.Recv(); err != nil {
				t.Fatal(err)
			}
			return stream
		},
		"the client does not read": func(t *testing.T, w *wire) writing {
			stream := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{})
			go func() {
				for stream.Send(&crdevalv1.AdmitStreamRequest{Items: items(object, object)}) == nil {
				}
			}()
			if _, err := stream.Header(); err != nil {
				t.Fatal(err)
			}
			return stream
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWith(t, nil, func(o *api.Options) { o.Limits.MaxStreams, o.MaxStreamIdle = 1, 500*time.Millisecond }).withCronTab()
			ended := displaced(t, w, begin)
			for ended != nil && strings.Contains(ended.Error(), ", is reached, and no stream was idle") { // the other came first to the server
				ended = displaced(t, w, begin)
			}
			if reason(t, status.Convert(ended)) != "OVERLOADED" || !strings.Contains(ended.Error(), "another stream has taken its slot") {
				t.Error(ended)
			}
		})
	}
}

// displaced begins a stream, and then others until one has a slot. It returns how the first one ended.
func displaced(t *testing.T, w *wire, begin func(*testing.T, *wire) writing) error {
	t.Helper()
	still := begin(t, w)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		other := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{}`))})
		m, err := other.Recv()
		if err == nil && len(m.GetResults()) == 1 {
			_ = other.CloseSend()
			if _, err = other.Recv(); errors.Is(err, io.EOF) {
				break
			}
			// On a busy machine it was idle itself for so long that the first stream has taken the slot.
		}
		if reason(t, status.Convert(err)) != "OVERLOADED" || time.Now().After(deadline) {
			t.Fatalf("the slot was not released: %v", err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := results(t, still.Recv)
		ended <- err
	}()
	for {
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Second): // the first stream reached the server only after the others: displace it again
			other := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{}`))})
			_, _ = other.Recv()
			_ = other.CloseSend()
		}
	}
}

// TestStreamsWaitForMemory: while memory is short, no further messages are received. After 5 seconds the stream ends, which
// a busy machine may reach: then the test begins again.
func TestStreamsWaitForMemory(t *testing.T) {
	for range 20 {
		if waitedForMemory(t) {
			return
		}
	}
	t.Error("the stream always ends")
}

func waitedForMemory(t *testing.T) bool {
	var short atomic.Bool
	var views atomic.Int64
	w := startWith(t, func(r api.Registry) api.Registry { return counting{r, &views} }, func(o *api.Options) { o.UnderPressure = short.Load }).withCronTab()
	stream := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{}`))})
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	short.Store(true)
	for range 3 { // one may be on its way already
		if err := stream.Send(&crdevalv1.AdmitStreamRequest{Items: items(cronTab(`{}`))}); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	if got := stable(t, &views); got > 2 {
		t.Errorf("%d messages were received while memory was short", got)
	}
	short.Store(false)
	_ = stream.CloseSend()
	for range 3 {
		switch _, err := stream.Recv(); {
		case err == nil:
		case reason(t, status.Convert(err)) == "OVERLOADED":
			return false
		default:
			t.Fatal(err)
		}
	}
	return true
}
