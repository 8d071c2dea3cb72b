package gateway

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Marshaler reads and writes the messages of crdeval.v1 as JSON with documents inline. Other messages go to protojson. It is a
// runtime.Marshaler of grpc-gateway and has no state.
type Marshaler struct{}

var _ runtime.Marshaler = Marshaler{}

// ContentType is application/json, whatever is marshalled.
func (Marshaler) ContentType(any) string { return mediaJSON }

// Marshal returns the JSON of a message. Fields are lowerCamelCase, scalars and lists are written also where they are empty,
// absent messages are left out, 64-bit integers are numbers, documents are what they are, byte for byte. It fails for a message
// with a Document that is not JSON, and for what is no message. A line feed ends it, so that a terminal's prompt stands on a line of its own.
func (Marshaler) Marshal(v any) ([]byte, error) {
	if text, ok := v.(written); ok {
		return text, nil
	}
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("gateway: a %T is no message", v)
	}
	if size := proto.Size(m); size > largestScratch/2 {
		text, err := appendAny(make([]byte, 0, 64+size*5/4), m)
		if err != nil {
			return nil, err
		}
		return append(text, '\n'), nil
	}
	scratch := scratches.Get().(*[]byte)
	text, err := appendAny((*scratch)[:0], m)
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	if cap(text) > largestScratch { // it stays with the answer
		return text, nil
	}
	*scratch = text
	answer := bytes.Clone(text)
	scratches.Put(scratch)
	return answer, nil
}

// scratches are where answers are written before anybody knows how long they are; one of more than largestScratch is not kept.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

const largestScratch = 1 << 20

func appendAny(dst []byte, m proto.Message) ([]byte, error) {
	switch r := m.ProtoReflect(); {
	case r.Descriptor().FullName() == documentDescriptor.FullName():
		return appendDocument(dst, r)
	case r.Descriptor().ParentFile().Package() == ownPackage:
		return appendMessage(dst, planOf(r.Descriptor()), r)
	}
	return appendForeign(dst, m)
}

// Unmarshal reads data, one JSON value and nothing after it, into v: a message, or a **crdevalv1.Document, which becomes nil
// for null. Documents share memory with data.
func (Marshaler) Unmarshal(data []byte, v any) error { return unmarshal(data, v, nil) }

func unmarshal(data []byte, v any, lists map[string]ListLimit) error {
	switch v := v.(type) {
	case **crdevalv1.Document:
		d, err := decodeDocument(data)
		*v = d
		return err
	case *crdevalv1.Document:
		d, err := decodeDocument(data)
		if d != nil {
			v.Content = d.Content
		}
		return err
	case proto.Message:
		if r := v.ProtoReflect(); r.Descriptor().ParentFile().Package() == ownPackage {
			return decodeMessage(data, r, lists)
		}
		return protojson.Unmarshal(data, v)
	}
	return fmt.Errorf("gateway: a %T is no message", v)
}

// NewDecoder reads one value from r. Where r is a body that the gateway has read already, nothing is copied.
func (m Marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		b, ok := r.(*body)
		if !ok {
			data, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			return m.Unmarshal(data, v)
		}
		if b.request, b.err = v, b.decode(v); b.err == nil {
			b.err = b.contradicted(v)
			b.form.want(v)
		}
		return b.err
	})
}

// NewEncoder writes each value to w, on a line of its own.
func (m Marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := m.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
}
