package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/crdeval/crdeval/engine/document"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

func appendAny(dst []byte, m proto.Message) ([]byte, error) {
	m = m.ProtoReflect().Interface() // which grpc-gateway may have wrapped
	if d, ok := m.(*crdevalv1.Document); ok {
		return appendDocument(dst, d)
	}
	if m.ProtoReflect().Descriptor().ParentFile().Package() != OwnPackage {
		return appendForeign(dst, m)
	}
	v := reflect.ValueOf(m).Elem()
	return appendMessage(dst, typeOf(v.Type()), v)
}

// errNotJSON is the error of a result that holds a Document which is not JSON. Documents of results are always JSON.
var errNotJSON = errors.New("a document of the answer is not JSON")

// appendMessage appends the struct m, of our own package, as JSON: fields in the order of the message, scalars and
// lists also if they are empty, documents verbatim. Absent messages are left out.
func appendMessage(dst []byte, t *messageType, m reflect.Value) (_ []byte, err error) {
	dst = append(dst, '{')
	separator := ""
	for i := range t.fields {
		f := &t.fields[i]
		v, present := f.in(m)
		if !present && !f.list && f.omitted {
			continue
		}
		dst = append(append(dst, separator...), f.key...)
		separator = ","
		if f.list {
			dst, err = appendList(dst, f, v)
		} else {
			dst, err = appendValue(dst, f, v)
		}
		if err != nil {
			return dst, fmt.Errorf("%s.%s: %w", t.name, f.name, err)
		}
	}
	return append(dst, '}'), nil
}

func appendList(dst []byte, f *field, l reflect.Value) (_ []byte, err error) {
	dst = append(dst, '[')
	previous := 0 // where the text of the previous element begins
	for i := range l.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		from := previous
		previous = len(dst)
		if i > 0 && f.class == message && l.Index(i).UnsafePointer() == l.Index(i-1).UnsafePointer() {
			dst = append(dst, dst[from:previous-1]...) // the results of a batch are often one message
		} else if dst, err = appendValue(dst, f, l.Index(i)); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendValue(dst []byte, f *field, v reflect.Value) ([]byte, error) {
	switch f.class {
	case inline:
		return appendDocument(dst, v.Interface().(*crdevalv1.Document))
	case message:
		return appendMessage(dst, f.sub, v.Elem())
	case foreign:
		m := v.Interface().(proto.Message)
		if _, ok := m.(*statusv1.Status); ok {
			return appendShared(dst, m, func() proto.Message { return m })
		}
		return appendForeign(dst, m)
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		return document.AppendString(dst, v.String()), nil
	case protoreflect.BoolKind:
		return strconv.AppendBool(dst, v.Bool()), nil
	case protoreflect.Int32Kind:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case protoreflect.Int64Kind: // 64-bit integers are strings, as in protobuf's JSON: a number may be rounded to 53 bits
		return append(strconv.AppendInt(append(dst, '"'), v.Int(), 10), '"'), nil
	case protoreflect.Uint64Kind:
		return append(strconv.AppendUint(append(dst, '"'), v.Uint(), 10), '"'), nil
	case protoreflect.DoubleKind:
		return appendFloat(dst, v.Float()), nil
	case protoreflect.EnumKind:
		if ev := f.Enum().Values().ByNumber(protoreflect.EnumNumber(v.Int())); ev != nil {
			return document.AppendString(dst, string(ev.Name())), nil
		}
		return strconv.AppendInt(dst, v.Int(), 10), nil
	}
	return dst, fmt.Errorf("the codec does not support the kind %s", f.Kind())
}

// appendDocument appends the JSON of a Document as it is.
func appendDocument(dst []byte, d *crdevalv1.Document) ([]byte, error) {
	if len(d.GetJson()) == 0 {
		return dst, errNotJSON
	}
	return append(dst, d.GetJson()...), nil
}

// appendForeign appends a message that holds no Document. It removes the spaces that protojson adds at random, so that
// equal answers are equal bytes.
func appendForeign(dst []byte, m proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return dst, err
	}
	buf := bytes.NewBuffer(dst)
	err = json.Compact(buf, text)
	return buf.Bytes(), err
}

func appendFloat(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 0):
		return append(dst, map[bool]string{true: `"Infinity"`, false: `"-Infinity"`}[v > 0]...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}
