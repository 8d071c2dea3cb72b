package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// maxEvents is how many events wait to be written together. An event with a manifest may be large and waits alone.
const maxEvents = 64

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
	lines := make(chan []byte, waiting)
	go func() { // not until ctx ends: its deadline is an event
		defer close(lines)
		for event, err := first, error(nil); ; event, err = stream.Recv() {
			text, last := eventLine(event, err)
			select {
			case lines <- text:
			case <-serving.Done():
				return
			}
			if last {
				return
			}
		}
	}()
	copyLines(w, http.NewResponseController(w), watchPatience, lines)
}

// eventLine returns the line of an event, or of the error that is the last.
func eventLine(event *crdevalv1.WatchCrdsResponse, err error) (text []byte, last bool) {
	if err == nil {
		if text, err = (Marshaler{}).Marshal(event); err == nil {
			return text, false
		}
		err = fmt.Errorf("an event cannot be written: %w", err)
	}
	return errorLine(err), true
}
