// Package codec is the JSON of the API. It is protobuf's JSON, but a Document is the JSON value itself: documents of
// requests are slices of the text, and those of responses are written as they are.
//
// encode.go writes messages, decode.go reads them by the structure that scan.go finds. message.go has what both know of
// a type of messages. Messages of other packages are in protojson.
package codec

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// Marshal returns the JSON of a message of the API. Scalars and lists are written also if they are empty, absent messages
// are left out, and a line feed ends the text. It fails for a message with a Document that is not JSON.
func Marshal(m proto.Message) ([]byte, error) {
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

// Unmarshal reads JSON into v: a message, or a **crdevalv1.Document, which becomes nil for null. It rejects unknown
// fields, fields given twice, values of a wrong type, and lists beyond their limits, which are by JSON path. Documents of
// v are slices of data. The error is an *Error, an *api.Error about a limit, ErrEmpty, or one of protojson.
func Unmarshal(data []byte, v any, lists map[string]api.ListLimit) error {
	switch v := v.(type) {
	case **crdevalv1.Document:
		d, err := UnmarshalDocument(data)
		*v = d
		return err
	case *crdevalv1.Document:
		d, err := UnmarshalDocument(data)
		v.Content = d.GetContent()
		return err
	case proto.Message:
		if v.ProtoReflect().Descriptor().ParentFile().Package() == OwnPackage {
			return decodeMessage(data, reflect.ValueOf(v).Elem(), lists)
		}
		return protojson.Unmarshal(data, v)
	}
	return fmt.Errorf("codec: a %T is not a message", v)
}
