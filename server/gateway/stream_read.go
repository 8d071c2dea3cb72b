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

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/gateway/codec"
)

const (
	// A message has at most messageItems items, and not much more than messageBytes bytes.
	messageItems = 100
	messageBytes = 1 << 20
	// maxRecords is how many items may wait for their results before reading pauses.
	maxRecords = 4096
)

// record is what is known about an item until its result arrives.
type record struct {
	item   proto.Message
	line   int              // of the body, on which it begins
	failed *statusv1.Status // why the piece is not an item; nil for items
}

// streamReader reads a body and sends its items.
type streamReader struct {
	from *splitter
	body io.Reader
	to   interface {
		CloseSend() error
		send([]proto.Message) error
		receive() ([]proto.Message, error)
	}
	newItem    func(object *crdevalv1.Document) proto.Message
	memory     bodyMemory
	max        int64 // bytes of a piece
	yaml, bare bool
	records    chan record // of the items in their order
	origins    *streamOrigins
	ended      chan error // receives why the body was not read to its end, a status, or nil
	items      []proto.Message
	bytes      int
}

func newStreamReader(
	body io.Reader, item func(*crdevalv1.Document) proto.Message, max int64, memory bodyMemory, yaml, bare bool,
) *streamReader {
	return &streamReader{
		newItem: item,
		from:    newSplitter(body, max, memory, yaml), body: body, memory: memory, max: max, yaml: yaml, bare: yaml || bare,
		records: make(chan record, maxRecords), origins: &streamOrigins{}, ended: make(chan error, 1),
	}
}

// read reads the body to its end. After an error it discards the rest.
func (s *streamReader) read(ctx context.Context) (err error) {
	defer host.Recover(&err)
	err = s.readItems(ctx)
	s.ended <- err
	_ = s.to.CloseSend() // never fails
	if err != nil || ctx.Err() != nil {
		_, _ = io.Copy(io.Discard, s.body) // until the writer's deadline
	}
	return err
}

// readItems returns nil at the end of the body, and when the call has ended: receiving returns why.
func (s *streamReader) readItems(ctx context.Context) (err error) {
	defer host.Recover(&err)
	for {
		if len(s.items) > 0 && (len(s.items) == messageItems || s.bytes >= messageBytes || !s.from.ready()) && s.flush() != nil {
			return nil // the call has ended
		}
		p, err := s.from.next()
		var found []record
		if err == nil {
			found, err = s.itemsOf(p)
		}
		if err != nil {
			_ = s.flush() // likewise
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return unreadable(err)
		}
		if s.bytes += len(p.text); len(found) == 0 {
			s.memory.give(int64(len(p.text)))
			s.bytes -= len(p.text)
		}
		for _, r := range found {
			if len(s.items) == messageItems && s.flush() != nil {
				return nil // the call has ended
			}
			s.items = append(s.items, r.item)
			select {
			case s.records <- r:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// flush sends the items that were read.
func (s *streamReader) flush() error {
	if len(s.items) == 0 {
		return nil
	}
	err := s.to.send(s.items)
	s.memory.give(int64(s.bytes))
	s.items, s.bytes = nil, 0
	return err
}

// pieceText returns the text of a piece, with positions in the body.
func pieceText(p piece) *document.Text {
	return document.NewText(p.text, document.Position{Line: p.line, Offset: int(p.offset)})
}

// itemsOf returns the items of a piece: those of a list in YAML, none of a null document, one otherwise.
func (s *streamReader) itemsOf(p piece) (found []record, err error) {
	if !s.yaml {
		r, err := s.item(p)
		return []record{r}, err
	}
	manifests := workspace.ReadText(pieceText(p))
	for _, m := range manifests {
		r := record{item: s.newItem(s.place(m)), line: p.line}
		if len(manifests) > 1 {
			r.line = m.Line()
		}
		found = append(found, r)
	}
	return found, nil
}

// place returns the document of a manifest, and remembers where it is.
func (s *streamReader) place(m *workspace.Manifest) *crdevalv1.Document {
	d := documentOf(m)
	o, err := originOf(m)
	if e, ok := errors.AsType[*engine.Error](err); ok {
		object := *e
		object.Reason = engine.ReasonObjectUnreadable
		err = &object
	}
	s.origins.set(d, streamOrigin{o, err, m.Warnings})
	return d
}

// item returns the item of a line. JSON that is not an item has an error in its record, and an empty item keeps the
// order of results. Other text ends the stream, since it is unknown where the next piece begins.
func (s *streamReader) item(p piece) (r record, err error) {
	p.text = bytes.TrimRight(p.text, "\r\n") // a slice of the same memory
	r = record{item: s.newItem(nil), line: p.line}
	if s.bare {
		var object *crdevalv1.Document
		object, err = codec.UnmarshalDocument(p.text)
		r.item = s.newItem(object)
	} else {
		err = codec.Unmarshal(p.text, r.item, nil)
	}
	if err != nil {
		err = lineError(p, err)
		if s.bare || !json.Valid(p.text) {
			return r, err
		}
		return record{item: s.newItem(nil), line: p.line, failed: status.Convert(err).Proto()}, nil
	}
	text := pieceText(p)
	for _, d := range r.documents() {
		if at := sliceOffset(p.text, d.GetJson()); at >= 0 {
			s.origins.set(d, streamOrigin{origin: text.At(at)})
		}
	}
	return r, nil
}

// documents returns the documents of the item.
func (r *record) documents() []*crdevalv1.Document {
	switch m := r.item.(type) {
	case *crdevalv1.ObjectItem:
		return []*crdevalv1.Document{m.GetObject()}
	case *crdevalv1.WriteItem:
		return []*crdevalv1.Document{
			m.GetCreate().GetObject(), m.GetUpdate().GetObject(), m.GetUpdate().GetOldObject(), m.GetPatch().GetPatch(),
			m.GetPatch().GetOldObject(),
		}
	}
	return nil
}

// lineError returns the status of a line that is not what it should be.
func lineError(p piece, err error) error {
	violation := engine.Violation{Type: engine.TypeSyntax, Message: err.Error(), Step: engine.StepDecode}
	place := fmt.Sprintf("line %d", p.line)
	text := err.Error()
	if at, ok := errors.AsType[*codec.Error](err); ok {
		at.FindSyntax()
		at.Text = strings.Replace(at.Text, "(the body ends here)", "(the line ends here)", 1)
		at.Text = strings.Replace(at.Text, "a body is one value", "a line is one value", 1)
		violation = at.Violation()
		position := pieceText(p).Position(at.Offset)
		violation.Position = &position
		place += fmt.Sprintf(", column %d", position.Column)
		if text = at.Text; at.Path != "" {
			text = at.Path + ": " + text
		}
	}
	hint := "each line is an item of JSON"
	switch begin := bytes.TrimLeft(p.text, " \t"); {
	case len(begin) > 0 && begin[0] != '{':
		hint += ", or of a body with Content-Type: application/yaml each document an object"
	case bytes.Contains(p.text, []byte(`"apiVersion"`)):
		hint += ", or with the query parameter bare=true an object"
	}
	failed := malformedAt(fmt.Sprintf("%s: %s (%s)", place, text, hint), violation)
	failed.Metadata["line"] = strconv.Itoa(p.line)
	return failed
}
