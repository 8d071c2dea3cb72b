package api

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	protov2 "google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// bound is how many elements a request may have of a field that repeats.
type bound struct {
	field protowire.Number
	most  int
}

// bounds are those of the fields of a request that repeat; the zero bound is none. Most elements are of the first.
func (c codec) bounds(request any) [2]bound {
	switch request.(type) {
	case *crdevalv1.AdmitStreamRequest, *crdevalv1.ReadStreamRequest:
		return [2]bound{{2, maxStreamItems}, {4, c.crds}}
	case evaluation:
		return [2]bound{{2, c.items}, {4, c.crds}}
	case *crdevalv1.RegisterCrdsRequest:
		return [2]bound{{2, c.entries}}
	case *crdevalv1.SetStoredVersionsRequest:
		return [2]bound{{3, maxStoredVersions}}
	case *crdevalv1.DiffCrdRequest:
		return [2]bound{{6, c.items}}
	case *crdevalv1.TableRequest:
		return [2]bound{{5, c.items}, {10, c.crds}}
	case *crdevalv1.SelectFieldsRequest:
		return [2]bound{{5, c.items}, {8, c.crds}}
	case *crdevalv1.GetScaleRequest:
		return [2]bound{{7, c.crds}}
	case *crdevalv1.SetScaleRequest:
		return [2]bound{{8, c.crds}}
	}
	return [2]bound{}
}

// Codec returns the codec of a gRPC server that serves the API: that of gRPC, except that it reads no more elements of a request's lists than
// show that there are too many. Two bytes are an element on the wire and some hundred in memory: without a bound before they are built, a
// message within the limit of bytes takes gigabytes until somebody counts them.
//
// It cuts the message behind the first element beyond a limit, which the handlers then refuse; an error of a codec would reach
// callers as INTERNAL and without a reason.
func Codec(l Limits) encoding.CodecV2 {
	l = l.withDefaults()
	return codec{CodecV2: encoding.GetCodecV2(proto.Name), items: l.MaxBatchItems, crds: maxInlineCrds, entries: l.MaxRegisterCrds}
}

type codec struct {
	encoding.CodecV2
	items, crds, entries int
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, isMessage := v.(protov2.Message)
	bounds := c.bounds(v)
	if !isMessage || bounds[0].field == 0 || data.Len()/2 <= least(bounds) {
		return c.CodecV2.Unmarshal(data, v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	if err := protov2.Unmarshal(cut(whole.ReadOnlyData(), bounds), m); err != nil {
		return fmt.Errorf("%s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return nil
}

// least is the smallest of the bounds that there are.
func least(bounds [2]bound) int {
	if bounds[1].field == 0 {
		return bounds[0].most
	}
	return min(bounds[0].most, bounds[1].most)
}

// cut returns the beginning of a message that has one element beyond a bound, or all of it. What is no message is left to Unmarshal.
func cut(message []byte, bounds [2]bound) []byte {
	common := &bounds[0]
	tag := byte(common.field)<<3 | byte(protowire.BytesType) // of its elements
	for at := 0; at < len(message); {
		if message[at] == tag { // nearly everything, so without the detour
			if size, n := protowire.ConsumeVarint(message[at+1:]); n > 0 && size <= uint64(len(message)-at-1-n) {
				if at += 1 + n + int(size); common.most == 0 {
					return message[:at]
				}
				common.most--
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
		for i := range bounds {
			if bounds[i].field != number {
				continue
			}
			if bounds[i].most == 0 {
				return message[:at]
			}
			bounds[i].most--
		}
	}
	return message
}
