package api_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// rawCodec sends the same bytes for every message.
type rawCodec struct {
	encoding.CodecV2
	bytes string
}

// Marshal implements encoding.CodecV2.
func (c rawCodec) Marshal(any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(c.bytes)}, nil
}

// TestMalformedMessages checks that a message that cannot be decoded is INVALID_ARGUMENT with an ErrorInfo, in calls and streams.
func TestMalformedMessages(t *testing.T) {
	w := start(t, nil)
	for name, text := range map[string]string{"truncated": "\x12\x05ab", "not UTF-8": "\n\x01\xff", "no tag": "\xff\xff\xff"} {
		raw := grpc.ForceCodecV2(rawCodec{encoding.GetCodecV2(proto.Name), text})
		_, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{}, raw)
		st := status.Convert(err)
		if st.Code() != codes.InvalidArgument || reason(t, st) != "INVALID_ARGUMENT" || !strings.Contains(st.Message(), "ValidateRequest") {
			t.Errorf("%s, a call: %v", name, err)
		}
		stream, err := w.evaluation.AdmitStream(context.Background(), raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&crdevalv1.AdmitStreamRequest{}); err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		if st := status.Convert(err); st.Code() != codes.InvalidArgument || reason(t, st) != "INVALID_ARGUMENT" {
			t.Errorf("%s, a stream: %v", name, err)
		}
		watch, err := w.registry.WatchCrds(context.Background(), &crdevalv1.WatchCrdsRequest{}, raw)
		if err != nil {
			t.Fatal(err)
		}
		_, err = watch.Recv()
		if st := status.Convert(err); st.Code() != codes.InvalidArgument || reason(t, st) != "INVALID_ARGUMENT" {
			t.Errorf("%s, a watch: %v", name, err)
		}
	}
}
