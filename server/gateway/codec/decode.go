package codec

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// decoder reads a JSON body into a message of our own package. Documents in the message are slices of the body.
type decoder struct {
	Scanner
	path  []step
	lists map[string]api.ListLimit // of the message that is the body; nil: no limits
}

// step is a field or, with an empty name, an index.
type step struct {
	name  string
	index int
}

// decodeMessage reads src, which is one JSON value, into the struct m. It rejects unknown fields, fields given twice,
// values of a wrong type, and lists beyond their limits, at the first element too many.
func decodeMessage(src []byte, m reflect.Value, lists map[string]api.ListLimit) error {
	d := decoder{Scanner: Scanner{JSON: src}, lists: lists}
	err := d.Start()
	if err == nil {
		err = d.message(typeOf(m.Type()), m)
	}
	if err == nil {
		err = d.End()
	}
	if at, ok := errors.AsType[*Error](err); ok {
		at.Path, at.Pointer = d.pathText(), d.pointer()
		if at.IsMember {
			at.Pointer += "/" + document.EscapePointer(at.Member)
		}
	}
	return err
}

// UnmarshalDocument returns src, which is one JSON value, as a Document; nil for null.
func UnmarshalDocument(src []byte) (*crdevalv1.Document, error) {
	s := Scanner{JSON: src}
	if err := s.Start(); err != nil {
		return nil, err
	}
	raw, err := s.Value()
	if err == nil {
		err = s.End()
	}
	if err != nil || isNull(raw) {
		return nil, err
	}
	return api.JSON(raw), nil
}

func isNull(raw []byte) bool { return string(raw) == "null" }

// pointer returns the path as a JSON pointer. The names of fields need no escapes.
func (d *decoder) pointer() string {
	var pointer []byte
	for _, s := range d.path {
		if pointer = append(append(pointer, '/'), s.name...); s.name == "" {
			pointer = strconv.AppendInt(pointer, int64(s.index), 10)
		}
	}
	return string(pointer)
}

func (d *decoder) pathText() string {
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
	return string(path)
}

// message reads an object into m. After an error, d.path is where it happened.
func (d *decoder) message(t *messageType, m reflect.Value) error {
	var given uint64 // a bit for each field
	if d.Peek() != '{' {
		return d.Fail("an object is expected (%s)", t.fieldNames())
	}
	return d.Elements('{', '}', "an object", func(int) error {
		start := d.Pos
		name, err := d.Key()
		if err != nil {
			return err
		}
		f := t.byName[string(name)]
		switch {
		case f == nil:
			d.Pos = start
			return d.failMember(engine.TypeUnknownField, name, "unknown field %q: %s", name, t.fieldNames())
		case given&(1<<f.Index()) != 0:
			d.Pos = start
			return d.failMember(engine.TypeDuplicateField, name, "the field %q is given twice", name)
		}
		given |= 1 << f.Index()
		d.path = append(d.path, step{name: f.name})
		if err := d.field(t, f, m); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
		return nil
	})
}

// failMember returns an error about a member of the object at the path.
func (d *decoder) failMember(kind string, name []byte, format string, args ...any) error {
	err := d.Fail(format, args...)
	if at, ok := errors.AsType[*Error](err); ok {
		at.Kind, at.Member, at.IsMember = kind, string(name), true
	}
	return err
}

// field reads the value of f. null leaves the field absent.
func (d *decoder) field(t *messageType, f *field, m reflect.Value) error {
	if d.Peek() == 'n' {
		start := d.Pos
		raw, err := d.Value()
		if err == nil && !isNull(raw) {
			d.Pos = start
			err = d.Fail("%q is not a JSON value", raw)
		}
		return err
	}
	to := m.Field(f.index)
	switch {
	case f.list:
		return d.list(f, to)
	case f.wrapper != nil:
		for i := range t.fields {
			if _, present := t.fields[i].in(m); present && t.fields[i].index == f.index {
				return d.Fail("%q and %q exclude each other: set one of them", f.name, t.fields[i].name)
			}
		}
		member := reflect.New(f.wrapper)
		to.Set(member)
		to = member.Elem().Field(0)
	case f.class == scalar && to.Kind() == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	return d.single(f, to)
}

func (d *decoder) list(f *field, l reflect.Value) error {
	limit, limited := api.ListLimit{}, false
	if len(d.path) <= 2 { // of the request or its context
		limit, limited = d.lists[d.pathText()]
	}
	depth := len(d.path)
	err := d.Elements('[', ']', "an array", func(i int) error {
		if limited && i == limit.Maximum {
			return limit.Exceeded(f.name)
		}
		d.path = append(d.path[:depth], step{index: i})
		start := d.Pos
		if i == l.Cap() {
			l.Grow(1)
		}
		l.SetLen(i + 1)
		err := d.single(f, l.Index(i))
		if err == nil && f.class == inline && isNull(d.JSON[start:d.Pos]) {
			d.Pos = start
			err = d.Fail("null is not an element of this array")
		}
		return err
	})
	if err == nil {
		d.path = d.path[:depth]
	}
	return err
}

// single reads one value of f.
func (d *decoder) single(f *field, to reflect.Value) error {
	switch f.class {
	case inline:
		raw, err := d.Value()
		if err == nil {
			to.Set(reflect.ValueOf(api.JSON(raw)))
		}
		return err
	case message:
		to.Set(reflect.New(f.sub.goType))
		return d.message(f.sub, to.Elem())
	case foreign:
		to.Set(reflect.New(to.Type().Elem()))
		return d.foreign(f, to.Interface().(proto.Message))
	}
	return d.scalar(f, to)
}

// foreign reads a message of another package.
func (d *decoder) foreign(f *field, m proto.Message) error {
	d.Space()
	start := d.Pos
	raw, err := d.Value()
	if err != nil {
		return err
	}
	if err := protojson.Unmarshal(raw, m); err != nil {
		d.Pos = start
		if f.Message().FullName() == "google.protobuf.Duration" {
			return d.Fail("%s is not a duration: %s", raw, durationForm(raw))
		}
		return d.Fail("not a value of %s: %v", f.Message().FullName(), err)
	}
	return nil
}

// durationForm says how a duration is written, if possible the one that was meant.
func durationForm(raw []byte) string {
	if meant, err := time.ParseDuration(strings.Trim(string(raw), `"`)); err == nil {
		return fmt.Sprintf(`write seconds, as in "%ss"`, strconv.FormatFloat(meant.Seconds(), 'f', -1, 64))
	}
	return `write seconds, as in "0.001s" or "1.5s"`
}

// scalar reads a boolean, number, string or name of an enum. Numbers may be quoted, as in protobuf's JSON.
func (d *decoder) scalar(f *field, to reflect.Value) (err error) {
	d.Space()
	start := d.Pos
	quoted := d.Peek() == '"'
	var text []byte
	if quoted || f.Kind() == protoreflect.StringKind {
		text, err = d.Text()
	} else {
		text, err = d.Value()
	}
	if err != nil {
		return err
	}
	v, want := parseScalar(f, string(text), quoted)
	if want != "" {
		d.Pos = start
		return d.Fail("%s is expected", want)
	}
	to.Set(reflect.ValueOf(v.Interface()).Convert(to.Type()))
	return nil
}

// parseScalar returns text as a value of f, or says what is expected.
func parseScalar(f protoreflect.FieldDescriptor, text string, quoted bool) (v protoreflect.Value, want string) {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text), ""
	case protoreflect.BoolKind:
		if !quoted && (text == "true" || text == "false") {
			return protoreflect.ValueOfBool(text == "true"), ""
		}
		return v, "true or false"
	case protoreflect.Int32Kind:
		if n, ok := parseInt(text, 32); ok {
			return protoreflect.ValueOfInt32(int32(n)), ""
		}
		return v, "an integer within 32 bits"
	case protoreflect.Int64Kind:
		if n, ok := parseInt(text, 64); ok {
			return protoreflect.ValueOfInt64(n), ""
		}
		return v, "an integer within 64 bits"
	case protoreflect.Uint64Kind:
		if n, err := strconv.ParseUint(text, 10, 64); err == nil && isNumber(text) {
			return protoreflect.ValueOfUint64(n), ""
		}
		return v, "an integer from 0 within 64 bits"
	case protoreflect.DoubleKind:
		special := quoted && (text == "NaN" || text == "Infinity" || text == "-Infinity")
		if n, err := strconv.ParseFloat(text, 64); err == nil && (special || isNumber(text)) {
			return protoreflect.ValueOfFloat64(n), ""
		}
		return v, "a number"
	case protoreflect.EnumKind:
		return parseEnum(f.Enum(), text, quoted)
	}
	panic("codec: the codec does not support the kind of " + string(f.FullName()))
}

// ExpectedText says what is expected if text, which has no quotes, is not a value of a scalar field; "" if it is one.
func ExpectedText(f protoreflect.FieldDescriptor, text string) (want string) {
	_, want = parseScalar(f, text, f.Kind() == protoreflect.EnumKind && !isNumber(text))
	return want
}

// parseInt accepts all that JSON can write an integer as: 3, 3.0, 3e0.
func parseInt(text string, bits int) (int64, bool) {
	if !isNumber(text) {
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 10, bits); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(text, 64)
	return int64(x), err == nil && x == math.Trunc(x) && math.Abs(x) <= math.MaxInt32
}

func parseEnum(ed protoreflect.EnumDescriptor, text string, quoted bool) (v protoreflect.Value, want string) {
	if quoted {
		if ev := ed.Values().ByName(protoreflect.Name(text)); ev != nil {
			return protoreflect.ValueOfEnum(ev.Number()), ""
		}
	} else if n, ok := parseInt(text, 32); ok {
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)), ""
	}
	var names []string
	for i := range ed.Values().Len() {
		names = append(names, string(ed.Values().Get(i).Name()))
	}
	return v, "one of " + strings.Join(names, ", ")
}
