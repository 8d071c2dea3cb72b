package api

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	protov2 "google.golang.org/protobuf/proto"
)

// The fields of every evaluation request that repeat.
const (
	fieldItems = protowire.Number(2)
	fieldCrds  = protowire.Number(4)
)

// tagItem is how an item begins on the wire.
const tagItem = byte(fieldItems)<<3 | byte(protowire.BytesType)

// Codec returns the codec of a gRPC server that serves the API: that of gRPC, except that it reads no more elements of an evaluation request than
// show that there are too many. Two bytes are an element on the wire and some hundred in memory: without a bound before they are built, a
// message within the limit of bytes takes gigabytes until somebody counts them.
//
// It cuts the message behind the first element beyond a limit, which the handlers then refuse; an error of a codec would reach
// callers as INTERNAL and without a reason.
func Codec(l Limits) encoding.CodecV2 {
	return codec{CodecV2: encoding.GetCodecV2(proto.Name), items: l.withDefaults().MaxBatchItems, crds: maxOverlayCrds}
}

type codec struct {
	encoding.CodecV2
	items, crds int
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, isMessage := v.(protov2.Message)
	if _, many := v.(evaluation); !many || !isMessage || data.Len()/2 <= min(c.items, c.crds) {
		return c.CodecV2.Unmarshal(data, v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	if err := protov2.Unmarshal(c.cut(whole.ReadOnlyData()), m); err != nil {
		return fmt.Errorf("%s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return nil
}

// cut returns the beginning of a message that has one element beyond a limit, or all of it. What is no message is left to Unmarshal.
func (c codec) cut(message []byte) []byte {
	items, crds := c.items, c.crds
	for at := 0; at < len(message); {
		if message[at] == tagItem { // nearly everything, so without the detour
			if size, n := protowire.ConsumeVarint(message[at+1:]); n > 0 && size <= uint64(len(message)-at-1-n) {
				if at += 1 + n + int(size); items == 0 {
					return message[:at]
				}
				items--
				continue
			}
		}
		number, kind, n := protowire.ConsumeTag(message[at:])
		if n < 0 {
			break
		}
		at += n
		if n = protowire.ConsumeFieldValue(number, kind, message[at:]); n < 0 {
			break
		}
		at += n
		switch number {
		case fieldItems:
			items--
		case fieldCrds:
			crds--
		}
		if items < 0 || crds < 0 {
			return message[:at]
		}
	}
	return message
}
