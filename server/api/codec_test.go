package api

import (
	"bytes"
	"runtime"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestCodecStopsCounting: a message of millions of empty elements costs no more than its bytes, and is still seen to have too many.
func TestCodecStopsCounting(t *testing.T) {
	c := Codec(Limits{MaxBatchItems: 1000})
	head := []byte("\n\x07default")
	for name, element := range map[string]string{"items": "\x12\x00", "crds": "\x22\x00"} {
		message := append(bytes.Clone(head), bytes.Repeat([]byte(element), 2_000_000)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var r crdevalv1.ValidateRequest
		if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(message)}, &r); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 2*uint64(len(message)) {
			t.Errorf("%s: %d bytes were allocated for a message of %d", name, taken, len(message))
		}
		if n := len(r.GetItems()) + len(r.GetCrds()); n != 1001 && n != maxOverlayCrds+1 {
			t.Errorf("%s: %d elements", name, n)
		}
	}
}

// TestCodecReadsRequests: what is within the limits is read as ever, and every evaluation request has its fields where the codec looks.
func TestCodecReadsRequests(t *testing.T) {
	c := Codec(Limits{MaxBatchItems: 3})
	for _, r := range []proto.Message{
		&crdevalv1.ValidateRequest{}, &crdevalv1.PruneRequest{}, &crdevalv1.DefaultRequest{}, &crdevalv1.ReadRequest{}, &crdevalv1.ConvertRequest{},
	} {
		if _, ok := r.(evaluation); !ok {
			t.Fatalf("%T is no evaluation", r)
		}
		fields := r.ProtoReflect().Descriptor().Fields()
		if fields.ByName("items").Number() != fieldItems || fields.ByName("crds").Number() != fieldCrds {
			t.Errorf("%T has its lists elsewhere", r)
		}
		for i := range fields.Len() {
			if f := fields.Get(i); f.IsList() && f.Number() != fieldItems && f.Number() != fieldCrds {
				t.Errorf("%s is not bounded", f.FullName())
			}
		}
	}
	want := &crdevalv1.ValidateRequest{Catalog: "default", Items: []*crdevalv1.Item{{Crd: "a"}, {Crd: "b"}, {Crd: "c"}}, AsGiven: true}
	data, err := c.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := &crdevalv1.ValidateRequest{}
	if err := c.Unmarshal(data, got); err != nil || !proto.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, broken := range []string{"\xff\xff\xff", "\x12\x05ab", "\x12\x03\x0a\x01\xff\x12\x00\x12\x00"} {
		if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(broken)}, &crdevalv1.ValidateRequest{}); err == nil {
			t.Errorf("%q is read", broken)
		}
	}
}

func BenchmarkCodec(b *testing.B) {
	item := &crdevalv1.Item{Object: json(bytes.Repeat([]byte("x"), 400))}
	r := &crdevalv1.ValidateRequest{Catalog: "default"}
	for range 100 {
		r.Items = append(r.Items, item)
	}
	message, err := proto.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	c := codec{items: 1000, crds: 16}
	for b.Loop() {
		if len(c.cut(message)) != len(message) {
			b.Fatal("cut")
		}
	}
}
