package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

const (
	// streamItems and streamItemBytes are how much of what has arrived is sent on in one message: as many items as one may have, and not much more than so many bytes.
	streamItems     = 100
	streamItemBytes = 1 << 20
	// recordsAhead is how many items wait to be answered before the body is read on.
	recordsAhead = 4096
	// memoryLook is how often a stream that waits for memory looks whether there is some.
	memoryLook = 50 * time.Millisecond
)

// record is what has to be known of an item when its result comes: where it stands.
type record struct {
	line   int
	column int // of the object's first byte, from 0
	offset int64
	failed *statusv1.Status // why it never was an item; nil for those that were sent on
}

// streamReader reads a body and sends its items on.
type streamReader struct {
	from       splitter
	body       io.Reader
	to         itemStream
	held       *room
	yaml, bare bool
	begun      bool        // some of the body has been read already
	short      func() bool // says that memory is; nil: nobody looks
	records    chan record // in the order of the items; closed behind the last
	failed     error       // why the body was not read to its end, a status; to be read when records is closed
	items      []*crdevalv1.EvaluationItem
	bytes      int
}

// read reads the body to its end. What is left of one that ends with an error is thrown away.
func (s *streamReader) read(ctx context.Context) {
	s.failed = s.readItems(ctx)
	close(s.records)
	_ = s.to.CloseSend() // it never fails
	if s.failed != nil || ctx.Err() != nil {
		_, _ = io.Copy(io.Discard, s.body) // until the deadline that the other side of the request sets
	}
}

func (s *streamReader) readItems(ctx context.Context) error {
	for {
		if err := s.await(ctx); err != nil {
			return nil //nolint:nilerr // the stream is over: why is what receiving says
		}
		if len(s.items) > 0 && (len(s.items) == streamItems || s.bytes >= streamItemBytes || !s.from.ready()) {
			if err := s.flush(); err != nil {
				return nil //nolint:nilerr // the call has ended: why is what receiving says
			}
		}
		p, err := s.from.next()
		switch {
		case errors.Is(err, io.EOF):
			_ = s.flush() // likewise
			return nil
		case err != nil:
			_ = s.flush()
			return unreadable(err)
		}
		item, at, err := s.item(p)
		if err != nil {
			_ = s.flush()
			return err
		}
		if item != nil {
			s.items = append(s.items, item)
			s.bytes += len(p.text)
		} else {
			s.held.give(int64(len(p.text)))
		}
		select {
		case s.records <- at:
		case <-ctx.Done():
			return nil
		}
	}
}

// await waits while memory is short: what was read already is on its way in several forms. The server waits as well, and ends the stream where that does not help.
func (s *streamReader) await(ctx context.Context) error {
	if s.short == nil || !s.short() {
		return nil
	}
	look := time.NewTicker(memoryLook)
	defer look.Stop()
	for s.short() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// unreadable is the status of an error of the body.
func unreadable(err error) error {
	if _, ours := status.FromError(err); ours {
		return err
	}
	return failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_MALFORMED_BODY, fmt.Sprintf("the body could not be read to its end: %v", err), nil)
}

// flush sends on what has been read.
func (s *streamReader) flush() error {
	if len(s.items) == 0 {
		return nil
	}
	err := s.to.send(s.items)
	s.held.give(int64(s.bytes))
	s.items, s.bytes = nil, 0
	return err
}

// item makes an item of a piece. A piece that is JSON and no item has an error of its own, in its record; one that is not even that ends the stream, since
// nobody knows what the next line would be.
func (s *streamReader) item(p piece) (*crdevalv1.EvaluationItem, record, error) {
	at := record{line: p.line, offset: p.offset}
	switch {
	case s.yaml:
		return &crdevalv1.EvaluationItem{Object: &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: p.text}}}, at, nil
	case s.bare:
		scan := scanner{src: p.text}
		object, err := scan.value()
		if err == nil {
			err = scan.end()
		}
		if err != nil {
			return nil, at, malformedLine(p, err)
		}
		at.stands(p, object)
		return &crdevalv1.EvaluationItem{Object: &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: object}}}, at, nil
	}
	p.text = bytes.TrimRight(p.text, "\r\n") // of the same memory, so that places can be found
	item := &crdevalv1.EvaluationItem{}
	if err := unmarshal(p.text, item, nil); err != nil {
		failed := malformedLine(p, err)
		if !json.Valid(p.text) {
			return nil, at, failed
		}
		at.failed = status.Convert(failed).Proto()
		return nil, at, nil
	}
	at.stands(p, item.GetObject().GetJson())
	return item, at, nil
}

// stands notes where an object stands that is a part of a piece.
func (r *record) stands(p piece, object []byte) {
	at := cap(p.text) - cap(object) // both end where their memory does
	if len(object) == 0 || at < 0 || at+len(object) > len(p.text) || &p.text[at] != &object[0] {
		return
	}
	before := p.text[:at]
	r.offset += int64(at)
	r.line += bytes.Count(before, []byte{'\n'})
	r.column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// shift moves places in an object to those in the body.
func (r *record) shift(places []place) {
	for _, p := range places {
		if p.at.GetLine() == 1 {
			p.at.Column += int32(r.column)
		}
		p.at.Line += int32(r.line - 1)
		p.at.Offset += r.offset
	}
}

// linesInText finds the lines that errors about a document name.
var linesInText = regexp.MustCompile(`\bline (\d+)\b`)

// shiftError lets an error about an object that cannot be read, if the result is one, say where in the body that is.
func (r *record) shiftError(result proto.Message) {
	failed, ok := result.(interface{ GetError() *statusv1.Status })
	if !ok || len(failed.GetError().GetDetails()) == 0 {
		return
	}
	st, info := failed.GetError(), &errdetails.ErrorInfo{}
	if st.GetDetails()[0].UnmarshalTo(info) != nil {
		return
	}
	line, err := strconv.Atoi(info.GetMetadata()["line"])
	if err != nil || info.GetReason() != strings.TrimPrefix(crdevalv1.ErrorReason_ERROR_REASON_OBJECT_UNREADABLE.String(), reasonPrefix) {
		return
	}
	if column, err := strconv.Atoi(info.GetMetadata()["column"]); err == nil && line == 1 {
		info.Metadata["column"] = strconv.Itoa(column + r.column)
	}
	info.Metadata["line"] = strconv.Itoa(line + r.line - 1)
	st.Message = linesInText.ReplaceAllStringFunc(st.GetMessage(), func(found string) string {
		n, _ := strconv.Atoi(strings.TrimPrefix(found, "line "))
		return "line " + strconv.Itoa(n+r.line-1)
	})
	if detail, err := anypb.New(info); err == nil {
		st.Details[0] = detail
	}
}

// malformedLine is the status of a line that is not what it should be.
func malformedLine(p piece, err error) error {
	text := err.Error()
	var ours *bodyError
	if errors.As(err, &ours) {
		if text = strings.Replace(ours.text, "(the body ends here)", "(the line ends here)", 1); ours.path != "" {
			text = ours.path + ": " + text
		}
		text = fmt.Sprintf("column %d: %s", 1+utf8.RuneCount(p.text[:min(ours.offset, len(p.text))]), text)
	}
	text = strings.Replace(text, "a body is one value", "a line is one value", 1)
	hint := "each line is an Item of JSON"
	switch begin := bytes.TrimLeft(p.text, " \t"); {
	case len(begin) > 0 && begin[0] != '{':
		hint += ", or of a body with Content-Type: application/yaml each document an object"
	case bytes.Contains(p.text, []byte(`"apiVersion"`)):
		hint += ", or with the query parameter bare=true an object"
	}
	return failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_MALFORMED_BODY, fmt.Sprintf("line %d, %s (%s)", p.line, text, hint),
		map[string]string{"line": fmt.Sprint(p.line)})
}
