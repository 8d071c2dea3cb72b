package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

const (
	// A message has at most messageItems items, and not much more than messageBytes bytes.
	messageItems = 100
	messageBytes = 1 << 20
	// maxRecords is how many items may wait for their results before reading pauses.
	maxRecords = 4096
)

// record is where an item is in the body, for its result.
type record struct {
	line   int
	column int // of the object's first byte, from 0
	offset int64
	failed *statusv1.Status // why the piece is not an item; nil for items
}

// streamReader reads a body and sends its items.
type streamReader struct {
	from  *splitter
	paced *pacedBody
	to    interface {
		CloseSend() error
		send([]*crdevalv1.EvaluationItem) error
		receive() ([]proto.Message, error)
	}
	held       *reservation
	max        int64 // bytes of a piece
	yaml, bare bool
	begun      bool        // some of the body was read before the call began
	records    chan record // of the items in their order
	ended      chan error  // receives why the body was not read to its end, a status, or nil
	items      []*crdevalv1.EvaluationItem
	bytes      int
}

func newStreamReader(paced *pacedBody, max int64, held *reservation, yaml, bare bool) *streamReader {
	return &streamReader{
		from: newSplitter(paced, max, held, yaml), paced: paced, held: held, max: max, yaml: yaml, bare: yaml || bare,
		records: make(chan record, maxRecords), ended: make(chan error, 1),
	}
}

// read reads the body to its end. After an error it discards the rest.
func (s *streamReader) read(ctx context.Context) {
	err := s.readItems(ctx)
	s.ended <- err
	_ = s.to.CloseSend() // never fails
	if err != nil || ctx.Err() != nil {
		_, _ = io.Copy(io.Discard, s.paced) // until the writer's deadline
	}
}

// readItems returns nil at the end of the body, and when the call has ended: receiving returns why.
func (s *streamReader) readItems(ctx context.Context) error {
	for {
		if len(s.items) > 0 && (len(s.items) == messageItems || s.bytes >= messageBytes || !s.from.ready()) && s.flush() != nil {
			return nil //nolint:nilerr // the call has ended
		}
		p, err := s.from.next()
		var item *crdevalv1.EvaluationItem
		var at record
		if err == nil {
			item, at, err = s.item(p)
		}
		if err != nil {
			_ = s.flush() // likewise
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return unreadable(err)
		}
		s.items = append(s.items, item)
		s.bytes += len(p.text)
		select {
		case s.records <- at:
		case <-ctx.Done():
			return nil
		}
	}
}

// flush sends the items that were read.
func (s *streamReader) flush() error {
	if len(s.items) == 0 {
		return nil
	}
	err := s.to.send(s.items)
	s.held.give(int64(s.bytes))
	s.items, s.bytes = nil, 0
	return err
}

// item returns the item of a piece. JSON that is not an item has an error in its record, and an empty item keeps the
// order of results. Other text ends the stream, since it is unknown where the next piece begins.
func (s *streamReader) item(p piece) (*crdevalv1.EvaluationItem, record, error) {
	at := record{line: p.line, offset: p.offset}
	if s.yaml {
		return &crdevalv1.EvaluationItem{Object: yamlDocument(p.text)}, at, nil
	}
	p.text = bytes.TrimRight(p.text, "\r\n") // a slice of the same memory
	item := &crdevalv1.EvaluationItem{}
	var err error
	if s.bare {
		item.Object, err = decodeDocument(p.text)
	} else {
		err = unmarshal(p.text, item, nil)
	}
	if err != nil {
		err = lineError(p, err)
		if s.bare || !json.Valid(p.text) {
			return nil, at, err
		}
		at.failed = status.Convert(err).Proto()
		return &crdevalv1.EvaluationItem{}, at, nil
	}
	at.locate(p, item.GetObject().GetJson())
	return item, at, nil
}

// locate notes where an object is that is a part of a piece.
func (r *record) locate(p piece, object []byte) {
	at := sliceOffset(p.text, object)
	if at < 0 {
		return
	}
	r.offset += int64(at)
	r.line += bytes.Count(p.text[:at], []byte{'\n'})
	r.column = utf8.RuneCount(p.text[bytes.LastIndexByte(p.text[:at], '\n')+1 : at])
}

// restore makes the positions of a result those in the body, and the lines that an error names.
func (r *record) restore(result proto.Message) {
	shiftPositions(positionsIn(result.ProtoReflect(), "position"), r.line, r.column, int(r.offset))
	if failed, ok := result.(interface{ GetError() *statusv1.Status }); ok {
		r.restoreError(failed.GetError())
	}
}

func (r *record) restoreError(st *statusv1.Status) {
	info := api.ErrorInfoOf(st)
	line, err := strconv.Atoi(info.GetMetadata()["line"])
	if err != nil || info.GetReason() != "OBJECT_UNREADABLE" {
		return
	}
	if column, err := strconv.Atoi(info.GetMetadata()["column"]); err == nil && line == 1 {
		info.Metadata["column"] = strconv.Itoa(column + r.column)
	}
	info.Metadata["line"] = strconv.Itoa(line + r.line - 1)
	st.Message = workspace.ShiftLines(st.GetMessage(), r.line-1)
	setErrorInfo(st, info)
	moveViolations(st, func(positions []located) { shiftPositions(positions, r.line, r.column, int(r.offset)) })
}

// lineError returns the status of a line that is not what it should be.
func lineError(p piece, err error) error {
	text := err.Error()
	if at, ok := errors.AsType[*bodyError](err); ok {
		if text = strings.Replace(at.text, "(the body ends here)", "(the line ends here)", 1); at.path != "" {
			text = at.path + ": " + text
		}
		text = fmt.Sprintf("column %d: %s", 1+utf8.RuneCount(p.text[:min(at.offset, len(p.text))]), text)
	}
	text = strings.Replace(text, "a body is one value", "a line is one value", 1)
	hint := "each line is an EvaluationItem of JSON"
	switch begin := bytes.TrimLeft(p.text, " \t"); {
	case len(begin) > 0 && begin[0] != '{':
		hint += ", or of a body with Content-Type: application/yaml each document an object"
	case bytes.Contains(p.text, []byte(`"apiVersion"`)):
		hint += ", or with the query parameter bare=true an object"
	}
	return malformed(fmt.Sprintf("line %d, %s (%s)", p.line, text, hint), map[string]string{"line": fmt.Sprint(p.line)})
}
