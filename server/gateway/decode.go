package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// decodeMessage reads src, one JSON value and nothing after it, into m, of our own package. Documents in m are slices of src.
// Unknown fields, fields given twice and values of a wrong type are refused, with line, column and path; so is a list beyond its limit, at
// the first element too many.
func decodeMessage(src []byte, m protoreflect.Message, lists map[string]ListLimit) error {
	d := decoder{scanner: scanner{src: src}, lists: lists}
	if bytes.HasPrefix(src, byteOrderMark) {
		return d.fail("there is a byte order mark before the JSON: send the body without it")
	}
	if d.peek() == 0 && d.pos == len(src) {
		return errEmptyBody
	}
	if err := d.message(planOf(m.Descriptor()), m); err != nil {
		return d.located(err)
	}
	return d.end()
}

// decodeDocument takes src, one JSON value and nothing after it, as a Document; nil for null.
func decodeDocument(src []byte) (*crdevalv1.Document, error) {
	s := scanner{src: src}
	if bytes.HasPrefix(src, byteOrderMark) {
		return nil, s.fail("there is a byte order mark before the JSON: send the body without it")
	}
	if s.peek() == 0 && s.pos == len(src) {
		return nil, errEmptyBody
	}
	raw, err := s.value()
	if err != nil {
		return nil, err
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	if isNull(raw) {
		return nil, nil
	}
	return newDocument(raw), nil
}

func isNull(raw []byte) bool { return len(raw) == 4 && string(raw) == "null" }

// newDocument makes a Document in one allocation.
func newDocument(raw []byte) *crdevalv1.Document {
	both := &struct {
		document crdevalv1.Document
		content  crdevalv1.Document_Json
	}{}
	both.content.Json = raw
	both.document.Content = &both.content
	return &both.document
}

// decoder is the walk over a body. path is where it is, for errors.
type decoder struct {
	scanner
	path  []step
	lists map[string]ListLimit // of the message that is the body; nil: no limits
}

// step is a field or, with a negative name, an index.
type step struct {
	name  string
	index int
}

func (d *decoder) located(err error) error {
	var at *bodyError
	if !errors.As(err, &at) || at.path != "" {
		return err
	}
	var path []byte
	for _, s := range d.path {
		switch {
		case s.name == "":
			path = append(strconv.AppendInt(append(path, '['), int64(s.index), 10), ']')
		case len(path) > 0:
			path = append(append(path, '.'), s.name...)
		default:
			path = append(path, s.name...)
		}
	}
	at.path = string(path)
	return at
}

// message reads an object into m. On an error d.path is where it happened.
func (d *decoder) message(p *plan, m protoreflect.Message) error {
	if d.peek() != '{' {
		return d.fail("an object is expected (%s)", p.fieldNames())
	}
	d.pos++
	if d.peek() == '}' {
		d.pos++
		return nil
	}
	var seen uint64
	for {
		start := d.pos
		name, err := d.string()
		if err != nil {
			return err
		}
		f := p.byName[name]
		if f == nil {
			d.pos = start
			return d.fail("unknown field %q: %s", name, p.fieldNames())
		}
		if bit := uint64(1) << f.fd.Index(); seen&bit != 0 {
			d.pos = start
			return d.fail("the field %q is given twice", name)
		} else {
			seen |= bit
		}
		if d.peek() != ':' {
			return d.fail("a colon is expected after %q", name)
		}
		d.pos++
		d.path = append(d.path, step{name: f.name})
		if err := d.field(p, f, m); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
		switch d.peek() {
		case ',':
			d.pos++
			d.space()
		case '}':
			d.pos++
			return nil
		default:
			return d.fail("a comma or a closing brace is expected")
		}
	}
}

// field reads the value of f. null leaves it absent, except that in results null is a Document.
func (d *decoder) field(p *plan, f *field, m protoreflect.Message) error {
	if d.peek() == 'n' && (f.kind != document || f.list || p.request) {
		raw, err := d.value()
		if err != nil {
			return err
		}
		if !isNull(raw) {
			d.pos -= len(raw)
			return d.fail("%q is no JSON value", raw)
		}
		return nil
	}
	if f.list {
		return d.list(f, m.Mutable(f.fd).List())
	}
	if f.one != nil {
		if other := m.WhichOneof(f.one); other != nil {
			return d.fail("%q excludes %q: give one of them", f.name, other.JSONName())
		}
	}
	switch f.kind {
	case document:
		raw, err := d.value()
		if err != nil {
			return err
		}
		m.Set(f.fd, protoreflect.ValueOfMessage(newDocument(raw).ProtoReflect()))
		return nil
	case message, foreign:
		sub := m.NewField(f.fd).Message()
		if err := d.submessage(f, sub); err != nil {
			return err
		}
		m.Set(f.fd, protoreflect.ValueOfMessage(sub))
		return nil
	}
	v, err := d.scalar(f)
	if err == nil {
		m.Set(f.fd, v)
	}
	return err
}

func (d *decoder) list(f *field, l protoreflect.List) error {
	if d.peek() != '[' {
		return d.fail("an array is expected")
	}
	d.pos++
	if d.peek() == ']' {
		d.pos++
		return nil
	}
	limit, limited := ListLimit{}, false
	if len(d.path) == 1 {
		limit, limited = d.lists[f.name]
	}
	d.path = append(d.path, step{})
	for i := 0; ; i++ {
		if limited && i == limit.Maximum {
			return &listError{f.name, limit}
		}
		d.path[len(d.path)-1].index = i
		if err := d.element(f, l); err != nil {
			return err
		}
		switch d.peek() {
		case ',':
			d.pos++
		case ']':
			d.pos++
			d.path = d.path[:len(d.path)-1]
			return nil
		default:
			return d.fail("a comma or a closing bracket is expected")
		}
	}
}

func (d *decoder) element(f *field, l protoreflect.List) error {
	switch f.kind {
	case document:
		start := d.pos
		raw, err := d.value()
		if err != nil {
			return err
		}
		if isNull(raw) {
			d.pos = start
			return d.fail("null is no element of this array")
		}
		l.Append(protoreflect.ValueOfMessage(newDocument(raw).ProtoReflect()))
		return nil
	case message, foreign:
		sub := l.NewElement()
		if err := d.submessage(f, sub.Message()); err != nil {
			return err
		}
		l.Append(sub)
		return nil
	}
	v, err := d.scalar(f)
	if err == nil {
		l.Append(v)
	}
	return err
}

func (d *decoder) submessage(f *field, m protoreflect.Message) error {
	if f.kind == message {
		return d.message(f.sub, m)
	}
	d.space()
	start := d.pos
	raw, err := d.value()
	if err != nil {
		return err
	}
	if err := protojson.Unmarshal(raw, m.Interface()); err != nil {
		d.pos = start
		if f.fd.Message().FullName() == "google.protobuf.Duration" {
			return d.fail("%s is no duration: %s", raw, durationForm(raw))
		}
		return d.fail("no value of %s: %v", f.fd.Message().FullName(), err)
	}
	return nil
}

var byteOrderMark = []byte("\ufeff")

// durationForm says how a duration is written: the one that was meant, if that can be told.
func durationForm(raw []byte) string {
	if meant, err := time.ParseDuration(strings.Trim(string(raw), `"`)); err == nil {
		return fmt.Sprintf(`write seconds, as in "%ss"`, strconv.FormatFloat(meant.Seconds(), 'f', -1, 64))
	}
	return `write seconds, as in "0.001s" or "1.5s"`
}
