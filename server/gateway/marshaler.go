package gateway

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// Marshaler is the JSON codec of the API. It differs from protojson in one respect: a Document is the JSON value itself, inline. Documents of
// requests are slices of the body, documents of responses are written as they are. It is a runtime.Marshaler of grpc-gateway.
type Marshaler struct{}

var _ runtime.Marshaler = Marshaler{}

// ContentType implements runtime.Marshaler.
func (Marshaler) ContentType(any) string { return mediaJSON }

// Marshal implements runtime.Marshaler. Scalars and lists are written also if they are empty, absent messages are left out, and a line feed ends
// the text. It fails for a message with a Document that is not JSON.
func (Marshaler) Marshal(v any) ([]byte, error) {
	if text, ok := v.(rawBody); ok {
		return text, nil
	}
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("gateway: a %T is not a message", v)
	}
	buffer := buffers.Get().(*[]byte)
	text, err := appendAny((*buffer)[:0], m)
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	if cap(text) > maxBuffer {
		return text, nil // it is not used again
	}
	*buffer = text
	answer := bytes.Clone(text)
	buffers.Put(buffer)
	return answer, nil
}

// buffers are used again, unless they have grown to more than maxBuffer bytes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxBuffer = 1 << 20

func appendAny(dst []byte, m proto.Message) ([]byte, error) {
	m = m.ProtoReflect().Interface() // which grpc-gateway may have wrapped
	if d, ok := m.(*crdevalv1.Document); ok {
		return appendDocument(dst, d)
	}
	if m.ProtoReflect().Descriptor().ParentFile().Package() != ownPackage {
		return appendForeign(dst, m)
	}
	v := reflect.ValueOf(m).Elem()
	return appendMessage(dst, typeOf(v.Type()), v)
}

// Unmarshal implements runtime.Marshaler for messages and for a **crdevalv1.Document, which becomes nil for null.
func (Marshaler) Unmarshal(data []byte, v any) error { return unmarshal(data, v, nil) }

func unmarshal(data []byte, v any, lists map[string]api.ListLimit) error {
	switch v := v.(type) {
	case **crdevalv1.Document:
		d, err := decodeDocument(data)
		*v = d
		return err
	case *crdevalv1.Document:
		d, err := decodeDocument(data)
		v.Content = d.GetContent()
		return err
	case proto.Message:
		if v.ProtoReflect().Descriptor().ParentFile().Package() == ownPackage {
			return decodeMessage(data, reflect.ValueOf(v).Elem(), lists)
		}
		return protojson.Unmarshal(data, v)
	}
	return fmt.Errorf("gateway: a %T is not a message", v)
}

// NewDecoder implements runtime.Marshaler. r is a body that the gateway has read.
func (Marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		b, ok := r.(*body)
		if !ok {
			return fmt.Errorf("gateway: a %T is not a body", r)
		}
		return b.decode(v)
	})
}

// NewEncoder implements runtime.Marshaler.
func (m Marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := m.Marshal(v)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
}
