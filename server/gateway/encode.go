package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// errNoJSON is the error of a result that holds a Document which is not JSON: results are JSON by contract.
var errNoJSON = errors.New("a document of the answer is not JSON")

// appendMessage appends m, of our own package, as JSON: fields in the order of the message, lowerCamelCase, scalars and lists
// also where they are empty, absent messages left out, documents verbatim.
func appendMessage(dst []byte, p *plan, m protoreflect.Message) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for i := range p.fields {
		f := &p.fields[i]
		if !f.list && (f.one != nil || f.kind >= document) && !m.Has(f.fd) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, f.key...)
		if f.list && !m.Has(f.fd) { // most lists of most answers: Get would make an empty one
			dst = append(dst, '[', ']')
			continue
		}
		value := m.Get(f.fd)
		var err error
		if f.list {
			dst, err = appendList(dst, f, value.List())
		} else {
			dst, err = appendValue(dst, f, value)
		}
		if err != nil {
			return dst, fmt.Errorf("%s.%s: %w", p.name, f.name, err)
		}
	}
	return append(dst, '}'), nil
}

func appendList(dst []byte, f *field, l protoreflect.List) ([]byte, error) {
	dst = append(dst, '[')
	for i := range l.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, f, l.Get(i)); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendValue(dst []byte, f *field, v protoreflect.Value) ([]byte, error) {
	switch f.kind {
	case scalarBool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case scalarInt32, scalarInt64:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case scalarUint32, scalarUint64:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case scalarFloat:
		return appendFloat(dst, v.Float(), 32), nil
	case scalarDouble:
		return appendFloat(dst, v.Float(), 64), nil
	case scalarString:
		return appendString(dst, v.String()), nil
	case scalarBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes())
		return append(dst, '"'), nil
	case scalarEnum:
		if ev := f.enum.Values().ByNumber(v.Enum()); ev != nil {
			return appendString(dst, string(ev.Name())), nil
		}
		return strconv.AppendInt(dst, int64(v.Enum()), 10), nil
	case document:
		return appendDocument(dst, v.Message())
	case message:
		return appendMessage(dst, f.sub, v.Message())
	default:
		return appendForeign(dst, v.Message().Interface())
	}
}

// appendDocument appends the JSON of a Document as it is.
func appendDocument(dst []byte, m protoreflect.Message) ([]byte, error) {
	d, ok := m.Interface().(*crdevalv1.Document)
	if !ok || len(d.GetJson()) == 0 {
		return dst, errNoJSON
	}
	return append(dst, d.GetJson()...), nil
}

// appendForeign appends a message that holds no Document. protojson puts spaces where it likes, on purpose: they are removed,
// so that equal answers are equal bytes.
func appendForeign(dst []byte, m proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return dst, err
	}
	buf := bytes.NewBuffer(dst)
	if err := json.Compact(buf, text); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}

func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Text stays readable: nothing is escaped but what JSON demands.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), `\ufffd`...)
				start = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
