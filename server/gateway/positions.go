package gateway

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// pointIntoBody makes the positions of findings those in the body, whatever the documents in it begin with: the answer to a body is about
// that body.
func (b *body) pointIntoBody(answer proto.Message) {
	if b.source != nil {
		relocate(answer, b.source, b.apart)
		return
	}
	if b.yaml {
		return // the body is the document
	}
	place := origin{text: b.data, line: 1}
	switch r := answer.(type) {
	case *crdevalv1.ValidateResponse:
		request, ok := b.request.(*crdevalv1.ValidateRequest)
		if !ok || len(request.GetItems()) != len(r.GetResults()) {
			return
		}
		for i, result := range r.GetResults() {
			if found := located(result.GetVerdict()); len(found) > 0 {
				place.shift(found, request.GetItems()[i].GetObject().GetJson())
			}
		}
	case *crdevalv1.RegisterCrdResponse:
		place.shift(r.GetReport().GetViolations(), b.manifest())
	case *crdevalv1.CheckCrdResponse:
		place.shift(r.GetReport().GetViolations(), b.manifest())
	}
}

// located are the findings of a verdict that have positions in the object: what was forgiven is said of the new one, too.
func located(v *crdevalv1.Verdict) []*crdevalv1.Violation {
	if len(v.GetForgiven()) == 0 {
		return v.GetViolations()
	}
	return slices.Concat(v.GetViolations(), v.GetForgiven())
}

func (b *body) manifest() []byte {
	if d, ok := b.request.(**crdevalv1.Document); ok {
		return (*d).GetJson()
	}
	return nil
}

// origin is where a document begins in the text that it is a slice of. Documents come in the order of the text.
type origin struct {
	text                []byte
	offset, line, start int // start is the offset of the line
}

// shift moves positions in a document to those in the text.
func (o *origin) shift(found []*crdevalv1.Violation, document []byte) {
	at := cap(o.text) - cap(document) // both end where their memory does
	if len(found) == 0 || len(document) == 0 || at < o.offset || at+len(document) > len(o.text) || &o.text[at] != &document[0] {
		return
	}
	passed := o.text[o.offset:at]
	o.line += bytes.Count(passed, []byte{'\n'})
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		o.start = o.offset + i + 1
	}
	o.offset = at
	column := utf8.RuneCount(o.text[o.start:at])
	for _, v := range found {
		p := v.GetPosition()
		if p == nil {
			continue
		}
		if p.GetLine() == 1 {
			p.Column += int32(column)
		}
		p.Line += int32(o.line - 1)
		p.Offset += int64(at)
	}
}

// relocate moves the positions of findings from the JSON that a YAML request was turned into, back to the YAML that the caller
// wrote: line, column and offset are those of the body. Items in apart have their lines and columns already, and what their offsets need.
func relocate(answer proto.Message, source *value.YAMLSource, apart map[int]int) {
	r, ok := answer.(*crdevalv1.ValidateResponse)
	if !ok {
		return
	}
	for i, result := range r.GetResults() {
		object := value.Path{value.Name("items"), value.At(i), value.Name("object")}
		for _, v := range located(result.GetVerdict()) {
			if v.GetPosition() == nil {
				continue
			}
			if more, alone := apart[i]; alone {
				v.Position.Offset += int64(more)
				continue
			}
			p := locate(source, object, v.GetPointer())
			v.Position = &crdevalv1.Position{Line: int32(p.Line), Column: int32(p.Column), Offset: int64(p.Offset)}
		}
	}
}

// locate follows a JSON pointer from a place of the source as far as the source goes: what is missing has the position of the
// object that lacks it. A pointer does not tell an index from a key of digits; the source does, in which a step that leads nowhere
// stays where it was.
func locate(source *value.YAMLSource, from value.Path, pointer string) value.Position {
	path, at := from, source.Position(from)
	if pointer == "" {
		return at
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		next := path.With(value.Name(strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")))
		if n, err := strconv.Atoi(token); err == nil && n >= 0 {
			if index := path.With(value.At(n)); source.Position(index) != at {
				next = index
			}
		}
		path, at = next, source.Position(next)
	}
	return at
}
