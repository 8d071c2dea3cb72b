package gateway

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// answered is what came of one reading of a stream.
type answered struct {
	results []result
	err     error
}

// streamWriter writes a line for each item of a stream.
type streamWriter struct {
	lineWriter
	from    itemStream
	records <-chan record
	answers chan answered
	gone    <-chan struct{} // closed when the client is known to be: no more answers come then
	results []result        // that came and are not written
	ended   bool            // no more will come
	index   int64           // of the next item
}

// receive hands on what the stream brings, up to the error that ends it.
func (s *streamWriter) receive(serving context.Context) {
	for {
		results, err := s.from.receive()
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

// run writes until there are no more items or the stream ends. It says whether the body may not have been read to its end.
func (s *streamWriter) run(body *streamReader) (failed bool) {
	idle := time.NewTicker(heartbeat)
	defer idle.Stop()
	records, answers := s.records, s.answers
	for records != nil || answers != nil {
		if len(s.results) == 0 && len(records) == 0 && s.control.Flush() != nil {
			return true
		}
		if len(s.results) > 0 {
			answers = nil // they come with their records
		} else if !s.ended {
			answers = s.answers
		}
		var err error
		select {
		case at, more := <-records:
			switch {
			case !more && body.failed != nil:
				return s.fail(body.failed)
			case !more:
				records = nil // what is left is the end of the call
			default:
				err = s.answer(at, idle.C)
			}
		case a := <-answers:
			err = s.take(a)
		case <-idle.C:
			err = s.write([]byte(" "))
		case <-s.gone:
			err = errClientGone
		}
		switch {
		case errors.Is(err, errClientGone):
			return true
		case err != nil:
			return s.fail(err)
		}
		if s.ended {
			answers = nil
		}
		idle.Reset(heartbeat)
	}
	_ = s.control.Flush()
	return false
}

// take takes what the stream has brought.
func (s *streamWriter) take(a answered) error {
	if errors.Is(a.err, io.EOF) {
		s.ended = true
		return nil
	}
	s.results = a.results
	return a.err
}

// errClientGone is the error of writing to a client that does not read any more.
var errClientGone = errors.New("the client is gone")

// answer writes the line of an item, when its result is there.
func (s *streamWriter) answer(at record, idle <-chan time.Time) error {
	line := append(strconv.AppendInt([]byte(`{"index":`), s.index, 10), `,"line":`...)
	line = append(strconv.AppendInt(line, int64(at.line), 10), ',')
	s.index++
	if at.failed != nil {
		text, err := Marshaler{}.Marshal(&crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Error{Error: at.failed}})
		if err != nil {
			return err
		}
		return s.write(append(line, text[1:]...))
	}
	for len(s.results) == 0 {
		if err := s.wait(idle); err != nil {
			return err
		}
	}
	next := s.results[0]
	s.results = s.results[1:]
	at.shift(next.places())
	at.shiftError(next.message)
	text, err := s.marshal(next.message)
	if err != nil {
		return err
	}
	return s.write(append(line, text[1:]...))
}

// wait waits for results.
func (s *streamWriter) wait(idle <-chan time.Time) error {
	if s.ended {
		return errors.New("the stream ended before its items were answered")
	}
	select {
	case a := <-s.answers:
		return s.take(a)
	default:
	}
	// Nothing is there yet: what was written goes out, as the wait may be long.
	if s.control.Flush() != nil {
		return errClientGone
	}
	select {
	case a := <-s.answers:
		return s.take(a)
	case <-idle:
		return s.write([]byte(" "))
	case <-s.gone:
		return errClientGone
	}
}

// marshal is the line of a result; one that cannot be written is an error of its own.
func (s *streamWriter) marshal(m proto.Message) ([]byte, error) {
	text, err := Marshaler{}.Marshal(m)
	if err != nil {
		st := explained(status.New(codes.Internal, "the result cannot be written: "+err.Error()))
		return Marshaler{}.Marshal(&crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Error{Error: st.Proto()}})
	}
	return text, nil
}

// fail writes the last line of a stream that was cut short.
func (s *streamWriter) fail(err error) bool {
	text, err := appendForeign([]byte(`{"error":`), explained(status.Convert(err)).Proto())
	if err != nil {
		text = []byte(`{"error":{"code":13}`)
	}
	if s.write(append(text, '}', '\n')) == nil {
		_ = s.control.Flush()
	}
	return true
}

// write writes a line, as long as that takes the client.
func (s *streamWriter) write(text []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamPatience)) // not every writer can
	if _, err := s.to.Write(text); err != nil {
		return errClientGone
	}
	return nil
}
