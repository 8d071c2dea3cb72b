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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// mediaLines is the media type of a stream: JSON texts, one a line.
const mediaLines = "application/x-ndjson"

const (
	// heartbeat is how often a stream on which nothing happens has a space, so that proxies keep its connection and a client that is gone is
	// noticed. White space before a JSON text means nothing, so that who reads line by line need not know.
	heartbeat = 15 * time.Second
	// writePatience is how long a client may not take what is written to it: less than a draining server waits for calls to end.
	writePatience = 10 * time.Second
	// eventsAhead is how many events wait to be written together; one with a manifest, which may have MiB, waits alone.
	eventsAhead = 64
)

// received is what came of one reading of a stream.
type received struct {
	event *crdevalv1.WatchCrdsResponse
	err   error
}

// watch answers WatchCrds as lines of JSON, each sent at once. grpc-gateway's own streams know no heartbeats, wrap every event, and answer an
// error that comes before the first event with HTTP 200.
func (g *gateway) watch(w http.ResponseWriter, r *http.Request, path *route) {
	request := &crdevalv1.WatchCrdsRequest{}
	if err := g.watchRequest(r, path, request); err != nil {
		writeError(w, status.Convert(err))
		return
	}
	serving, cancel := context.WithCancel(r.Context())
	defer cancel()
	ctx, err := runtime.AnnotateContext(serving, g.mux, r, crdevalv1.RegistryService_WatchCrds_FullMethodName)
	if err != nil {
		writeError(w, status.Convert(err))
		return
	}
	stream, err := g.registry.WatchCrds(ctx, request)
	if err != nil {
		writeError(w, status.Convert(err))
		return
	}
	first, err := stream.Recv()
	if err != nil {
		writeError(w, status.Convert(err))
		return
	}
	w.Header().Set("Content-Type", mediaLines)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx holds lines back otherwise
	w.WriteHeader(http.StatusOK)
	ahead := eventsAhead
	if request.GetView() == crdevalv1.CrdView_CRD_VIEW_FULL {
		ahead = 1
	}
	events := make(chan received, ahead)
	events <- received{event: first}
	go receive(serving, stream, events) // not ctx: that it ended is what is still to be told
	lines := lineWriter{to: w, control: http.NewResponseController(w)}
	defer lines.end()
	lines.copy(events)
}

// watchRequest reads the path and the query of a request into a message.
func (g *gateway) watchRequest(r *http.Request, path *route, into *crdevalv1.WatchCrdsRequest) error {
	segments, _ := split(r.URL.Path)
	for i, name := range path.params {
		if name == "catalog" {
			into.Catalog = segments[i]
		}
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err == nil {
		err = (&strictQuery{}).Parse(into, values, utilities.NewDoubleArray([][]string{{"catalog"}}))
	}
	if err != nil {
		return failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, err.Error(), nil)
	}
	return nil
}

// receive hands on what a stream brings, up to the error that ends it, and closes the channel.
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

// lineWriter writes lines to a client.
type lineWriter struct {
	to      http.ResponseWriter
	control *http.ResponseController
}

// copy writes events until the stream ends, its error then, or until the client is gone.
func (l *lineWriter) copy(events <-chan received) {
	idle := time.NewTicker(heartbeat)
	defer idle.Stop()
	for {
		var text []byte
		var last bool
		select {
		case e, more := <-events:
			if !more { // the client is gone
				return
			}
			text, last = lineOf(e)
			idle.Reset(heartbeat)
		case <-idle.C:
			text = []byte(" ")
		}
		_ = l.control.SetWriteDeadline(time.Now().Add(writePatience)) // not every writer can
		if _, err := l.to.Write(text); err != nil {
			return
		}
		if len(events) > 0 && !last {
			continue
		}
		if err := l.control.Flush(); err != nil || last {
			return
		}
	}
}

// end leaves the connection as it was found.
func (l *lineWriter) end() { _ = l.control.SetWriteDeadline(time.Time{}) }

// lineOf is the line for one event, or for the error that is the last.
func lineOf(e received) (text []byte, last bool) {
	if e.err == nil {
		var err error
		if text, err = (Marshaler{}).Marshal(e.event); err == nil {
			return text, false
		}
		e.err = fmt.Errorf("an event cannot be written: %w", err)
	}
	text, err := appendForeign([]byte(`{"error":`), explained(status.Convert(e.err)).Proto())
	if err != nil {
		text = []byte(`{"error":{"code":13}`)
	}
	return append(text, '}', '\n'), true
}
