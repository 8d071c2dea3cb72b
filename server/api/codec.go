package api

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	protov2 "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// malformedField is the number of an unknown field that has the error of a message that cannot be decoded. gRPC answers
// an error of a codec itself, as INTERNAL without a reason, before a handler can convert it.
const malformedField = protowire.MaxValidNumber

// Codec returns the protobuf codec of a gRPC server for this API. It decodes a request up to the first element beyond
// the limit of a list; then a handler rejects it. Empty elements take 2 bytes on the wire and hundreds in memory.
func Codec(l Limits) encoding.CodecV2 {
	return &codec{CodecV2: encoding.GetCodecV2(proto.Name), limits: l.withDefaults().Lists()}
}

type codec struct {
	encoding.CodecV2
	limits map[string]ListLimit
	bounds sync.Map // of listBounds by protoreflect.FullName
}

// listBounds has the maximum length of each list of a message.
type listBounds map[protowire.Number]int

// boundsOf returns the bounds of the lists of a message.
func (c *codec) boundsOf(d protoreflect.MessageDescriptor) listBounds {
	if known, ok := c.bounds.Load(d.FullName()); ok {
		return known.(listBounds) //nolint:forcetypeassert // nothing else is stored
	}
	bounds := listBounds{}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if limit, ok := c.limits[f.JSONName()]; ok && f.IsList() {
			bounds[f.Number()] = limit.Maximum
		}
	}
	c.bounds.Store(d.FullName(), bounds)
	return bounds
}

// Unmarshal implements encoding.CodecV2.
func (c *codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(protov2.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	d := m.ProtoReflect().Descriptor()
	err := protov2.Unmarshal(truncate(buffer.ReadOnlyData(), c.boundsOf(d)), m)
	if err == nil || d.ParentFile().Package() != crdevalv1.File_crdeval_v1_server_proto.Package() {
		return err
	}
	protov2.Reset(m)
	tag := protowire.AppendTag(nil, malformedField, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendString(tag, fmt.Sprintf("%s: %v", d.FullName(), err)))
	return nil
}

// checkDecoded returns the error of a message that the codec could not decode.
func checkDecoded(m any) error {
	message, ok := m.(protov2.Message)
	if !ok || len(message.ProtoReflect().GetUnknown()) == 0 {
		return nil
	}
	unknown := message.ProtoReflect().GetUnknown()
	number, _, n := protowire.ConsumeTag(unknown)
	if number != malformedField {
		return nil
	}
	text, _ := protowire.ConsumeString(unknown[n:])
	return &Error{
		Reason: crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, Message: "the message cannot be decoded: " + text,
	}
}

// truncate returns the message including the first element beyond a bound. It leaves malformed fields to Unmarshal.
func truncate(message []byte, bounds listBounds) []byte {
	shortest := len(message)
	for _, most := range bounds {
		shortest = min(shortest, most)
	}
	if len(bounds) == 0 || len(message)/2 <= shortest {
		return message // an element takes at least 2 bytes
	}
	counts := make(map[protowire.Number]int, len(bounds))
	for rest := message; len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		rest = rest[n:]
		if most, ok := bounds[number]; ok {
			if counts[number]++; counts[number] > most {
				return message[:len(message)-len(rest)]
			}
		}
	}
	return message
}
