package gateway

import (
	"bytes"
	"reflect"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/crdeval/crdeval/engine/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// located is a position in an answer, and the JSON pointer to what is there.
type located struct {
	*crdevalv1.Position
	pointer string
}

var positionName = (*crdevalv1.Position)(nil).ProtoReflect().Descriptor().FullName()

// positionsIn returns the positions in a message in fields of this name.
func positionsIn(m protoreflect.Message, name protoreflect.Name) (all []located) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch sub := fd.Message(); {
		case sub == nil || sub.ParentFile().Package() != ownPackage:
		case fd.IsList():
			for i := range v.List().Len() {
				all = append(all, positionsIn(v.List().Get(i).Message(), name)...)
			}
		case sub.FullName() != positionName:
			all = append(all, positionsIn(v.Message(), name)...)
		case fd.Name() == name:
			at, _ := v.Message().Interface().(*crdevalv1.Position)
			all = append(all, located{at, pointerOf(m)})
		}
		return true
	})
	return all
}

// pointerOf returns the JSON pointer beside a position.
func pointerOf(m protoreflect.Message) string {
	for _, name := range []protoreflect.Name{"pointer", "manifest_pointer"} {
		if fd := m.Descriptor().Fields().ByName(name); fd != nil {
			return m.Get(fd).String()
		}
	}
	return ""
}

// restorePositions converts the positions of an answer from positions in the request's documents to those in the body.
func (b *body) restorePositions(answer proto.Message) {
	if b.manifests != nil {
		b.restoreManifests(answer)
		return
	}
	if b.yaml && b.source == nil {
		return // the body is the document
	}
	o := origin{text: b.data, line: 1}
	restore := func(m proto.Message, document *crdevalv1.Document, path ...value.Segment) {
		r, _ := m.(*crdevalv1.VerdictResult)
		v := r.GetVerdict()
		if v.GetAllowed() && v.GetChanges() == nil && len(v.GetWarnings())+len(v.GetRatcheted()) == 0 && v.GetRuleTraces() == nil {
			return // Nearly all verdicts that allow an object have no positions.
		}
		b.restore(&o, positionsIn(m.ProtoReflect(), "position"), document, path)
	}
	switch request := b.request.(type) {
	case **crdevalv1.Document:
		restore(answer, *request)
	case *crdevalv1.RegisterCrdsRequest:
		for i, m := range aligned(answer, "Results", len(request.GetEntries())) {
			restore(m, request.GetEntries()[i].GetManifest(), value.Name("entries"), value.At(i), value.Name("manifest"))
		}
	case batch:
		for i, m := range aligned(answer, "Results", len(request.GetItems())) {
			restore(m, request.GetItems()[i].GetObject(), value.Name("items"), value.At(i), value.Name("object"))
		}
	case *crdevalv1.DiffCrdRequest:
		a, ok := answer.(*crdevalv1.DiffCrdResponse)
		if !ok {
			return
		}
		for i, m := range aligned(answer, "ReplayResults", len(request.GetObjects())) {
			restore(m, request.GetObjects()[i], value.Name("objects"), value.At(i))
		}
		restore(a.GetReport(), request.GetManifest(), value.Name("manifest"))
		for _, c := range a.GetChanges() {
			changed := c.ProtoReflect()
			b.restore(&o, positionsIn(changed, "new_position"), request.GetManifest(), value.Path{value.Name("manifest")})
			b.restore(&o, positionsIn(changed, "old_position"), request.GetBase(), value.Path{value.Name("base")})
		}
	}
}

// elements returns the elements of a list of messages.
func elements(answer proto.Message, list string) []proto.Message {
	l := reflect.ValueOf(answer.ProtoReflect().Interface()).Elem().FieldByName(list)
	if !l.IsValid() {
		return nil
	}
	all := make([]proto.Message, l.Len())
	for i := range all {
		all[i] = l.Index(i).Interface().(proto.Message)
	}
	return all
}

// aligned returns the elements of a list if there are n.
func aligned(answer proto.Message, list string, n int) []proto.Message {
	if all := elements(answer, list); len(all) == n {
		return all
	}
	return nil
}

// restore moves positions in one document of the request to those in the body. path is its
// path in a YAML body.
func (b *body) restore(o *origin, positions []located, document *crdevalv1.Document, path value.Path) {
	if b.source == nil {
		o.shift(positions, document.GetJson())
		return
	}
	for _, p := range positions {
		found := b.source.Follow(path, p.pointer)
		p.Line, p.Column, p.Offset = int32(found.Line), int32(found.Column), int64(found.Offset)
	}
}

// origin is where a document begins in the text. The search for the next document, mostly a later one, starts there.
type origin struct {
	text                 []byte
	offset, line, column int // column counts the code points before it in its line
}

// shift moves positions in a document to those in the text.
func (o *origin) shift(positions []located, document []byte) {
	at := sliceOffset(o.text, document)
	if len(positions) == 0 || at < 0 {
		return
	}
	if at < o.offset {
		o.offset, o.line, o.column = 0, 1, 0
	}
	passed := o.text[o.offset:at]
	o.line += bytes.Count(passed, []byte{'\n'})
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		passed, o.column = passed[i+1:], 0
	}
	o.column += utf8.RuneCount(passed) // only of what was passed: a line may be as long as the body
	o.offset = at
	shiftPositions(positions, o.line, o.column, at)
}

// shiftPositions moves positions in a document that begins at this line, column (the code points before it) and offset.
func shiftPositions(positions []located, line, column, offset int) {
	for _, p := range positions {
		if p.GetLine() == 1 {
			p.Column += int32(column)
		}
		p.Line += int32(line - 1)
		p.Offset += int64(offset)
	}
}

// sliceOffset returns the offset of a part in a text, -1 if it is not a slice of the text.
func sliceOffset(text, part []byte) int {
	at := cap(text) - cap(part) // both end where their memory ends
	if len(part) == 0 || at < 0 || at+len(part) > len(text) || &text[at] != &part[0] {
		return -1
	}
	return at
}
