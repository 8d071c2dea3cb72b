package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// mediaLines is the media type of streams: a JSON text in each line.
const mediaLines = "application/x-ndjson"

const (
	// heartbeat is how often a space is written to an idle stream, so that proxies keep its connection and a client that is gone is noticed. White
	// space before a JSON text has no meaning.
	heartbeat = 15 * time.Second
	// streamPatience and watchPatience are how long a client may block a write. A client of a stream may have work to do with each result. A watch must end
	// before a draining server stops waiting.
	streamPatience = 5 * time.Minute
	watchPatience  = 10 * time.Second
)

// setStreamHeaders sets the headers of a stream.
func setStreamHeaders(w http.ResponseWriter) {
	w.Header().Set("Content-Type", mediaLines)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // else nginx holds lines back
}

// copyLines writes lines until there are no more or the client is gone. patience is how long the client may block a write.
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

// writeResults sends the lines of the results, those of a message together, up to the error that ends the stream, and closes the channel.
func (s *streamReader) writeResults(ctx context.Context, lines chan<- []byte) {
	defer close(lines)
	for index := int64(0); ; {
		var text []byte
		results, err := s.to.receive()
		for _, result := range results {
			at := <-s.records // sent before its item
			text = at.appendLine(text, index, result)
			index++
		}
		if errors.Is(err, io.EOF) {
			select {
			case err = <-s.ended:
			case <-ctx.Done():
				return
			}
			if err == nil && len(s.records) > 0 {
				err = errors.New("the stream ended before its items were answered")
			}
			if err == nil {
				return
			}
		}
		if err != nil {
			text = errorLine(err)
		}
		select {
		case lines <- text:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// appendLine appends the line of an item.
func (r *record) appendLine(dst []byte, index int64, result proto.Message) []byte {
	if r.failed != nil {
		result = &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Error{Error: r.failed}}
	} else {
		r.restore(result)
	}
	text, err := Marshaler{}.Marshal(result)
	if err != nil {
		st := statusOf(status.Error(codes.Internal, "the result cannot be written: "+err.Error()))
		text = append(appendStatus([]byte(`{"error":`), st), '}', '\n')
	}
	dst = append(strconv.AppendInt(append(dst, `{"index":`...), index, 10), `,"line":`...)
	dst = append(strconv.AppendInt(dst, int64(r.line), 10), ',')
	return append(dst, text[1:]...)
}
