package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/host"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/gateway/codec"
)

// mediaLines is the media type of streams: a JSON text in each line.
const mediaLines = "application/x-ndjson"

const (
	// heartbeat is how often a space is written to an idle stream, so that proxies keep its connection and a disconnected
	// client is noticed. White space before a JSON text has no meaning.
	heartbeat = 15 * time.Second
	// watchPatience is how long a client may block a write of a watch. A watch must end before a draining server stops
	// waiting.
	watchPatience = 10 * time.Second
)

// setStreamHeaders sets the headers of a stream.
func setStreamHeaders(w http.ResponseWriter) {
	w.Header().Set("Content-Type", mediaLines)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // else nginx holds lines back
}

// copyLines writes lines until there are no more or the client disconnects. patience limits how long a write blocks.
func copyLines(w http.ResponseWriter, control *http.ResponseController, patience time.Duration, lines <-chan []byte) {
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	idle := time.NewTicker(heartbeat)
	defer idle.Stop()
	for more := true; more; {
		text := []byte(" ")
		select {
		case text, more = <-lines:
			idle.Reset(heartbeat)
		case <-idle.C:
		}
		for line := range bytes.Lines(text) {
			_ = control.SetWriteDeadline(time.Now().Add(patience)) // not every writer has deadlines
			if _, err := w.Write(line); err != nil {
				return
			}
		}
		if len(lines) == 0 && control.Flush() != nil { // before a wait that may be long
			return
		}
	}
}

// writeResults sends the lines of each message of results, then that of the final error, and closes the channel. It
// returns that error.
func (s *streamReader) writeResults(ctx context.Context, lines chan<- []byte) error {
	defer close(lines)
	for index := int64(0); ; {
		text, n, err := s.resultLines(ctx, index)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			text = errorLine(err)
		}
		select {
		case lines <- text:
		case <-ctx.Done():
			return err
		}
		if err != nil {
			return err
		}
		index += n
	}
}

// resultLines receives a message of results. It returns their lines, of which the first has an index, and their number.
// The error is io.EOF after the last message, and when ctx has ended.
func (s *streamReader) resultLines(ctx context.Context, index int64) (text []byte, n int64, err error) {
	defer host.Recover(&err)
	results, err := s.to.receive()
	for _, result := range results {
		at := <-s.records // sent before its item
		text = at.appendLine(text, index+n, result)
		s.origins.remove(at.documents()...)
		n++
	}
	if !errors.Is(err, io.EOF) {
		return text, n, err
	}
	select {
	case err = <-s.ended:
	case <-ctx.Done():
		return nil, 0, io.EOF
	}
	if err == nil && len(s.records) > 0 {
		err = errors.New("the stream ended before its items were answered")
	}
	return nil, 0, cmp.Or(err, io.EOF)
}

// appendLine appends the line of an item.
func (r *record) appendLine(dst []byte, index int64, result proto.Message) []byte {
	if r.failed != nil {
		result = &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Error{Error: r.failed}}
	}
	text, err := codec.Marshal(result)
	if err != nil {
		st := statusOf(status.Error(codes.Internal, "the result cannot be written: "+err.Error()))
		text = append(codec.AppendStatus([]byte(`{"error":`), st), '}', '\n')
	}
	dst = append(strconv.AppendInt(append(dst, `{"index":`...), index, 10), `,"line":`...)
	dst = append(strconv.AppendInt(dst, int64(r.line), 10), ',')
	return append(dst, text[1:]...)
}

// maxEvents is how many events wait to be written together. An event with a manifest may be large and waits alone.
const maxEvents = 64

// watch answers WatchCrds as lines of JSON, each sent at once. Streams of grpc-gateway have no heartbeats, wrap every
// event, and answer an error before the first event with HTTP 200.
func (g *gateway) watch(w http.ResponseWriter, r *http.Request, catalog string) {
	request := &crdevalv1.WatchCrdsRequest{Catalog: catalog}
	if err := runtime.PopulateQueryParameters(request, r.URL.Query(), &utilities.DoubleArray{}); err != nil {
		WriteError(w, invalid("%v", err))
		return
	}
	serving, cancel := context.WithCancel(r.Context())
	defer cancel()
	ctx, err := runtime.AnnotateContext(serving, g.mux, r, crdevalv1.RegistryService_WatchCrds_FullMethodName)
	if err != nil {
		WriteError(w, err)
		return
	}
	stream, err := g.registry.WatchCrds(ctx, request)
	var first *crdevalv1.WatchCrdsResponse
	if err == nil {
		first, err = stream.Recv()
	}
	if err != nil {
		WriteError(w, err)
		return
	}
	setStreamHeaders(w)
	w.WriteHeader(http.StatusOK)
	waiting := maxEvents
	if request.GetView() == crdevalv1.CrdView_CRD_VIEW_FULL {
		waiting = 1
	}
	lines := make(chan []byte, waiting)
	written := make(chan error, 1)
	go func() { written <- writeEvents(serving, stream, first, lines) }() // not until ctx ends: its deadline is an event
	copyLines(w, http.NewResponseController(w), watchPatience, lines)
	cancel()
	raise(<-written)
}

// events is a stream of events.
type events = grpc.ServerStreamingClient[crdevalv1.WatchCrdsResponse]

// writeEvents sends the line of each event, then that of the final error, and closes the channel. It returns that error.
func writeEvents(ctx context.Context, stream events, first *crdevalv1.WatchCrdsResponse, lines chan<- []byte) error {
	defer close(lines)
	for event := first; ; event = nil {
		text, err := eventLine(stream, event)
		if err != nil {
			text = errorLine(err)
		}
		select {
		case lines <- text:
		case <-ctx.Done():
			return err
		}
		if err != nil {
			return err
		}
	}
}

// eventLine returns the line of an event, or of the next one if it is nil.
func eventLine(stream events, event *crdevalv1.WatchCrdsResponse) (text []byte, err error) {
	defer host.Recover(&err)
	if event == nil {
		if event, err = stream.Recv(); err != nil {
			return nil, err
		}
	}
	if text, err = codec.Marshal(event); err != nil {
		return nil, fmt.Errorf("an event cannot be written: %w", err)
	}
	return text, nil
}
