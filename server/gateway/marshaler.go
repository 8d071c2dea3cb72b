package gateway

import (
	"fmt"
	"io"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/server/gateway/codec"
)

// marshaler is the runtime.Marshaler of grpc-gateway. Its JSON is that of package codec.
type marshaler struct{}

var _ runtime.Marshaler = marshaler{}

// ContentType implements runtime.Marshaler.
func (marshaler) ContentType(any) string { return mediaJSON }

// Marshal implements runtime.Marshaler for messages and a rawBody.
func (marshaler) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case rawBody:
		return v, nil
	case proto.Message:
		return codec.Marshal(v)
	}
	return nil, fmt.Errorf("gateway: a %T is not a message", v)
}

// Unmarshal implements runtime.Marshaler.
func (marshaler) Unmarshal(data []byte, v any) error { return codec.Unmarshal(data, v, nil) }

// NewDecoder implements runtime.Marshaler. r is a body that the gateway has read.
func (marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		b, ok := r.(*body)
		if !ok {
			return fmt.Errorf("gateway: a %T is not a body", r)
		}
		return b.decode(v)
	})
}

// NewEncoder implements runtime.Marshaler.
func (m marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := m.Marshal(v)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
}
