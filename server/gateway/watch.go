package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/grpc"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// maxEvents is how many events wait to be written together. An event with a manifest may be large and waits alone.
const maxEvents = 64

// received is an event of a watch, or the error that ends it.
type received struct {
	event *crdevalv1.WatchCrdsResponse
	err   error
}

// watch answers WatchCrds as lines of JSON, each sent at once. Streams of grpc-gateway have no heartbeats, wrap every event, and answer an error before
// the first event with HTTP 200.
func (g *gateway) watch(w http.ResponseWriter, r *http.Request, catalog string) {
	request := &crdevalv1.WatchCrdsRequest{Catalog: catalog}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err == nil {
		err = parseQuery(request, values, utilities.NewDoubleArray([][]string{{"catalog"}}), nil)
	}
	if err != nil {
		writeError(w, invalid("%v", err))
		return
	}
	serving, cancel := context.WithCancel(r.Context())
	defer cancel()
	ctx, err := runtime.AnnotateContext(serving, g.mux, r, crdevalv1.RegistryService_WatchCrds_FullMethodName)
	if err != nil {
		writeError(w, err)
		return
	}
	stream, err := g.registry.WatchCrds(ctx, request)
	var first *crdevalv1.WatchCrdsResponse
	if err == nil {
		first, err = stream.Recv()
	}
	if err != nil {
		writeError(w, err)
		return
	}
	setStreamHeaders(w)
	w.WriteHeader(http.StatusOK)
	waiting := maxEvents
	if request.GetView() == crdevalv1.CrdView_CRD_VIEW_FULL {
		waiting = 1
	}
	events := make(chan received, waiting)
	events <- received{event: first}
	go receive(serving, stream, events) // not ctx: its deadline is an event
	lines := lineWriter{w, http.NewResponseController(w), watchPatience}
	defer lines.end()
	lines.copy(events)
}

// receive passes on the events of a stream, up to the error that ends it, and closes the channel.
func receive(serving context.Context, stream grpc.ServerStreamingClient[crdevalv1.WatchCrdsResponse], to chan<- received) {
	defer close(to)
	for {
		event, err := stream.Recv()
		select {
		case to <- received{event, err}:
		case <-serving.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// copy writes events until the stream ends or the client is gone.
func (l *lineWriter) copy(events <-chan received) {
	idle := time.NewTicker(heartbeat)
	defer idle.Stop()
	for {
		text, last := []byte(" "), false
		select {
		case e, more := <-events:
			if !more {
				return // the client is gone
			}
			text, last = eventLine(e)
			idle.Reset(heartbeat)
		case <-idle.C:
		}
		if l.write(text) != nil {
			return
		}
		if len(events) > 0 && !last {
			continue
		}
		if l.flush() != nil || last {
			return
		}
	}
}

// eventLine returns the line of an event, or of the error that is the last.
func eventLine(e received) (text []byte, last bool) {
	if e.err == nil {
		text, err := Marshaler{}.Marshal(e.event)
		if err == nil {
			return text, false
		}
		e.err = fmt.Errorf("an event cannot be written: %w", err)
	}
	return errorLine(e.err), true
}
