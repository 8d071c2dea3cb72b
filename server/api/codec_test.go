package api

import (
	"bytes"
	"runtime"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// requestLists calls f for each list of each request of the API. streamed says that the request is a message of a stream.
func requestLists(t *testing.T, f func(request protoreflect.MessageType, field protoreflect.FieldDescriptor, streamed bool)) {
	t.Helper()
	lists := 0
	for _, file := range []protoreflect.FileDescriptor{
		crdevalv1.File_crdeval_v1_registry_proto, crdevalv1.File_crdeval_v1_evaluation_proto,
		crdevalv1.File_crdeval_v1_presentation_proto, crdevalv1.File_crdeval_v1_server_proto, crdevalv1.File_crdeval_v1_apiserver_proto,
	} {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				method := file.Services().Get(i).Methods().Get(j)
				input := method.Input()
				request, err := protoregistry.GlobalTypes.FindMessageByName(input.FullName())
				if err != nil {
					t.Fatal(err)
				}
				for k := range input.Fields().Len() {
					if field := input.Fields().Get(k); field.IsList() {
						f(request, field, method.IsStreamingClient())
						lists++
					}
				}
			}
		}
	}
	if lists < 17 {
		t.Errorf("the API has %d lists in requests, want at least 17", lists)
	}
}

// TestCodecTruncatesLists checks that a list of millions of empty elements takes little memory, and is rejected. Every list
// of every request must have a limit.
func TestCodecTruncatesLists(t *testing.T) {
	c := Codec(Limits{MaxBatchItems: 1000})
	limits := Limits{MaxBatchItems: 1000}.Lists()
	requestLists(t, func(request protoreflect.MessageType, field protoreflect.FieldDescriptor, streamed bool) {
		limit := limits[field.JSONName()]
		if streamed {
			limit = ListLimit{"max_stream_items", maxStreamItems}
		}
		m := request.New().Interface()
		element := protowire.AppendBytes(protowire.AppendTag(nil, field.Number(), protowire.BytesType), nil)
		prefix := "\n\x07default"
		if request.Descriptor().Fields().ByName("context") != nil {
			prefix = "\n\x09" + prefix
		}
		message := append([]byte(prefix), bytes.Repeat(element, 300_000)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := receive(func(m any) error { return c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(message)}, m) }, m)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 4*uint64(len(message)) {
			t.Errorf("%s: %d bytes were allocated for a message of %d", field.FullName(), taken, len(message))
		}
		if n, want := m.ProtoReflect().Get(field).List().Len(), limit.Maximum+1; n != want {
			t.Errorf("%s: %d elements, want %d", field.FullName(), n, want)
		}
		if got := ErrorInfoOf(status.Convert(err).Proto()); got.GetReason() != "LIMIT_EXCEEDED" || got.GetMetadata()["limit"] != limit.Name {
			t.Errorf("%s: %v, want %s", field.FullName(), err, limit.Name)
		}
	})
}

// TestCodecTruncatesContexts checks that a list of millions of empty CRDs takes little memory, and is rejected, also if a
// message has its context in parts.
func TestCodecTruncatesContexts(t *testing.T) {
	c := Codec(Limits{})
	for _, parts := range []int{1, 100, 300_000} {
		context := protowire.AppendTag(nil, 1, protowire.BytesType)
		context = protowire.AppendBytes(context, bytes.Repeat([]byte("\x12\x00"), 300_000/parts))
		message := append([]byte("\n\x09\n\x07default"), bytes.Repeat(context, parts)...)
		m := &crdevalv1.AdmitStreamRequest{}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		into := &received{message: m}
		if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(message)}, into); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 4*uint64(len(message)) {
			t.Errorf("%d parts: %d bytes were allocated for a message of %d", parts, taken, len(message))
		}
		if n := len(m.GetContext().GetCrds()); n != maxInlineCrds+1 || m.GetContext().GetCatalog() != "default" {
			t.Errorf("%d parts: %d CRDs, want %d", parts, n, maxInlineCrds+1)
		}
		if got := ErrorInfoOf(status.Convert(into.err).Proto()); got.GetMetadata()["limit"] != "max_inline_crds" {
			t.Errorf("%d parts: %v", parts, into.err)
		}
	}
}

// TestCodecDecodes checks that the codec decodes messages within the limits, and rejects malformed ones.
func TestCodecDecodes(t *testing.T) {
	c := Codec(Limits{MaxBatchItems: 3})
	want := &crdevalv1.ValidateRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{{Crd: "a"}, {Crd: "b"}, {Crd: "c"}}, AsGiven: true,
	}
	data, err := c.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := &crdevalv1.ValidateRequest{}
	if err := receive(func(m any) error { return c.Unmarshal(data, m) }, got); err != nil || !proto.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, broken := range []string{"\xff\xff\xff", "\x12\x05ab", "\x12\x03\x0a\x01\xff\x12\x00\x12\x00", "\n\x01\xff"} {
		m := &crdevalv1.ValidateRequest{}
		decode := func(m any) error { return c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(broken)}, m) }
		if err := receive(decode, m); err == nil || len(m.GetItems()) > 0 {
			t.Errorf("%q is decoded: %v", broken, m)
		}
	}
}

func BenchmarkCodec(b *testing.B) {
	item := &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: JSON(bytes.Repeat([]byte("x"), 400))}}}
	r := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}
	for range 100 {
		r.Items = append(r.Items, item)
	}
	message, err := proto.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	bounds := Codec(Limits{}).(*codec).boundsOf(r.ProtoReflect().Descriptor())
	for b.Loop() {
		if _, beyond := truncate(message, bounds); beyond != nil {
			b.Fatal("truncated")
		}
	}
}
