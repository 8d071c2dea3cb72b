package gateway

import (
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

// lineWriter writes lines to a client.
type lineWriter struct {
	to       http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

// setStreamHeaders sets the headers of a stream.
func setStreamHeaders(w http.ResponseWriter) {
	w.Header().Set("Content-Type", mediaLines)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // else nginx holds lines back
}

// errClientGone is the error of writing to a client that does not read.
var errClientGone = errors.New("the client is gone")

func (l *lineWriter) write(text []byte) error {
	_ = l.control.SetWriteDeadline(time.Now().Add(l.patience)) // not every writer has deadlines
	if _, err := l.to.Write(text); err != nil {
		return errClientGone
	}
	return nil
}

func (l *lineWriter) flush() error {
	if l.control.Flush() != nil {
		return errClientGone
	}
	return nil
}

// end removes the deadline from the connection.
func (l *lineWriter) end() { _ = l.control.SetWriteDeadline(time.Time{}) }

// discard has what the client sends discarded for a while.
func (l *lineWriter) discard() { _ = l.control.SetReadDeadline(time.Now().Add(discardTime)) }

// answered is a message of a stream.
type answered struct {
	results []proto.Message
	err     error
}

// streamWriter writes a line for each item of a stream.
type streamWriter struct {
	lineWriter
	from    *streamReader
	answers chan answered
	gone    <-chan struct{} // closed when the client is known to be gone
	index   int64           // of the next item
}

// receive passes on the messages of the stream, up to the error that ends it.
func (s *streamWriter) receive(serving context.Context) {
	for {
		results, err := s.from.to.receive()
		select {
		case s.answers <- answered{results, err}:
		case <-serving.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// run writes until there are no more items or the stream ends. It reports whether the body may not have been read to its end.
func (s *streamWriter) run() (failed bool) {
	err := s.copy()
	if err == nil {
		err = s.flush()
	}
	if err != nil && !errors.Is(err, errClientGone) && s.write(errorLine(err)) == nil {
		_ = s.flush()
	}
	return err != nil
}

func (s *streamWriter) copy() error {
	idle := time.NewTicker(heartbeat)
	defer idle.Stop()
	var at *record              // of the next line
	var results []proto.Message // that were received and not written
	records, ended := (<-chan record)(s.from.records), false
	for {
		switch {
		case at != nil && at.failed != nil:
			if err := s.line(at, &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Error{Error: at.failed}}); err != nil {
				return err
			}
			at = nil
			continue
		case at != nil && len(results) > 0:
			at.restore(results[0])
			if err := s.line(at, results[0]); err != nil {
				return err
			}
			at, results = nil, results[1:]
			continue
		case at != nil && ended:
			return errors.New("the stream ended before its items were answered")
		case records == nil && ended:
			return nil
		}
		next, answers := records, (<-chan answered)(s.answers)
		if at != nil {
			next = nil
		}
		if ended || len(results) > 0 {
			answers = nil
		}
		if len(next) == 0 && len(answers) == 0 {
			if err := s.flush(); err != nil { // before a wait that may be long
				return err
			}
		}
		select {
		case r, more := <-next:
			switch {
			case more:
				at = &r
			case s.from.failed != nil:
				return s.from.failed
			default:
				records = nil
			}
		case a := <-answers:
			if ended = errors.Is(a.err, io.EOF); a.err != nil && !ended {
				return a.err
			}
			results = a.results
		case <-idle.C:
			if err := s.write([]byte(" ")); err != nil {
				return err
			}
		case <-s.gone:
			return errClientGone
		}
		idle.Reset(heartbeat)
	}
}

// line writes the line of an item.
func (s *streamWriter) line(at *record, result proto.Message) error {
	text, err := Marshaler{}.Marshal(result)
	if err != nil {
		st := statusOf(status.Error(codes.Internal, "the result cannot be written: "+err.Error()))
		text, err = Marshaler{}.Marshal(&crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Error{Error: st.Proto()}})
		if err != nil {
			return err
		}
	}
	line := append(strconv.AppendInt([]byte(`{"index":`), s.index, 10), `,"line":`...)
	line = append(strconv.AppendInt(line, int64(at.line), 10), ',')
	s.index++
	return s.write(append(line, text[1:]...))
}
