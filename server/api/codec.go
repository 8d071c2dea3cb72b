package api

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	protov2 "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Codec returns the protobuf codec of a gRPC server for this API. It rejects a request with a list beyond its limit, and
// decodes such a request up to the first element too many, so that interceptors know the catalog. Empty elements take 2
// bytes on the wire and hundreds in memory. Services must be registered through Decoding, and DecodeStream must be the
// outermost interceptor of streams.
func Codec(l Limits) encoding.CodecV2 {
	return &codec{CodecV2: encoding.GetCodecV2(proto.Name), limits: l.withDefaults().Lists()}
}

type codec struct {
	encoding.CodecV2
	limits map[string]ListLimit
	bounds sync.Map // of listBounds by protoreflect.FullName
}

// listBound is the limit of a list of messages.
type listBound struct {
	ListLimit
	field string
}

// listBounds are the limits of the lists of a message, and of the CRDs of its context.
type listBounds struct {
	lists   map[protowire.Number]*listBound
	context protowire.Number // the number of the field context; 0: none
	crds    protowire.Number // that of its list
	inline  *listBound       // of that list
}

const contextField = "context"

// boundsOf returns the limits of the lists of a message.
func (c *codec) boundsOf(d protoreflect.MessageDescriptor) listBounds {
	if known, ok := c.bounds.Load(d.FullName()); ok {
		return known.(listBounds) //nolint:forcetypeassert // nothing else is stored
	}
	bounds := listBounds{lists: map[protowire.Number]*listBound{}}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if limit, ok := c.limits[f.JSONName()]; ok && f.IsList() {
			if strings.HasSuffix(string(d.Name()), "StreamRequest") {
				limit = ListLimit{"max_stream_items", maxStreamItems}
			}
			bounds.lists[f.Number()] = &listBound{limit, string(f.Name())}
		}
		if f.Name() == contextField && f.Message() != nil {
			crds := f.Message().Fields().ByName("crds")
			bounds.context, bounds.crds = f.Number(), crds.Number()
			bounds.inline = &listBound{c.limits[contextField+"."+crds.JSONName()], string(crds.Name())}
		}
	}
	c.bounds.Store(d.FullName(), bounds)
	return bounds
}

// received is a message to decode, and the error of decoding it. gRPC would answer an error of a codec itself, as
// INTERNAL without a reason.
type received struct {
	message any
	err     error
}

// Unmarshal implements encoding.CodecV2.
func (c *codec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*received)
	if !ok { // of a service that is not ours
		return c.CodecV2.Unmarshal(data, v)
	}
	m, ok := r.message.(protov2.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, r.message)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	d := m.ProtoReflect().Descriptor()
	bounded, beyond := truncate(buffer.ReadOnlyData(), c.boundsOf(d))
	if beyond != nil {
		r.err = beyond.Exceeded(beyond.field).GRPCStatus().Err()
	}
	if err := protov2.Unmarshal(bounded, m); err != nil {
		protov2.Reset(m)
		r.err = (&Error{
			Reason:  crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
			Message: fmt.Sprintf("the message cannot be decoded: %s: %v", d.FullName(), err),
		}).GRPCStatus().Err()
	}
	return nil
}

// Decoding registers services with a gRPC server that has Codec. A message that cannot be decoded reaches the
// interceptors as an empty one, so that they authenticate and log the call.
type Decoding struct{ grpc.ServiceRegistrar }

// RegisterService implements grpc.ServiceRegistrar.
func (r Decoding) RegisterService(desc *grpc.ServiceDesc, service any) {
	r.ServiceRegistrar.RegisterService(wrapUnary(desc, decodeFirst), service)
}

// decodeFirst returns a handler of which the interceptors run also if the message cannot be decoded.
func decodeFirst(handler grpc.MethodHandler) grpc.MethodHandler {
	return func(service any, ctx context.Context, decode func(any) error, outer grpc.UnaryServerInterceptor) (any, error) {
		var undecoded error
		decodeAlways := func(m any) error { undecoded = receive(decode, m); return nil }
		decoded := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if undecoded != nil {
				return nil, undecoded
			}
			return next(ctx, request)
		}
		return intercept(handler, decoded)(service, ctx, decodeAlways, outer)
	}
}

// receive decodes a message.
func receive(decode func(any) error, m any) error {
	r := &received{message: m}
	if err := decode(r); err != nil {
		return err
	}
	return r.err
}

// DecodeStream is an interceptor that decodes the messages of a stream with Codec.
func DecodeStream(service any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(service, decodingStream{s})
}

type decodingStream struct{ grpc.ServerStream }

// RecvMsg implements grpc.ServerStream.
func (s decodingStream) RecvMsg(m any) error { return receive(s.ServerStream.RecvMsg, m) }

// truncate returns the message up to the first element beyond the limit of a list, including that element, and the limit.
// Without such an element, it returns the message and nil. It leaves malformed fields to Unmarshal.
func truncate(message []byte, bounds listBounds) (bounded []byte, beyond *listBound) {
	shortest := len(message)
	for _, b := range bounds.lists {
		shortest = min(shortest, b.Maximum)
	}
	if bounds.context != 0 {
		shortest = min(shortest, bounds.inline.Maximum)
	}
	if len(message)/2 <= shortest {
		return message, nil // an element takes at least 2 bytes
	}
	counts := make(map[protowire.Number]int, len(bounds.lists))
	crds := 0
	for rest := message; len(rest) > 0; {
		number, kind, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		begin := len(message) - len(rest)
		if number == bounds.context && number != 0 && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(rest)
			context, _ := protowire.ConsumeBytes(rest[tag:])
			if end := endBeyond(context, bounds.crds, bounds.inline.Maximum, &crds); end >= 0 {
				short := protowire.AppendTag(append([]byte(nil), message[:begin]...), number, protowire.BytesType)
				return protowire.AppendBytes(short, context[:end]), bounds.inline
			}
		}
		rest = rest[n:]
		if b, ok := bounds.lists[number]; ok {
			if counts[number]++; counts[number] > b.Maximum {
				return message[:len(message)-len(rest)], b
			}
		}
	}
	return message, nil
}

// endBeyond counts the elements of a list in a message. It returns the end of the first one beyond the maximum, or -1.
func endBeyond(message []byte, list protowire.Number, maximum int, count *int) int {
	for rest := message; len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		rest = rest[n:]
		if number == list {
			if *count++; *count > maximum {
				return len(message) - len(rest)
			}
		}
	}
	return -1
}
