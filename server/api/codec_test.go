package api

import (
	"bytes"
	"runtime"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestCodecStopsCounting: a message of millions of empty elements costs no more than its bytes, and is still seen to have too many.
func TestCodecStopsCounting(t *testing.T) {
	c := Codec(Limits{MaxBatchItems: 1000})
	head := []byte("\n\x07default")
	for name, of := range map[string]struct {
		element string
		request proto.Message
		count   func(proto.Message) int
		most    int
	}{
		"items":   {"\x12\x00", &crdevalv1.ValidateRequest{}, func(m proto.Message) int { return len(m.(*crdevalv1.ValidateRequest).GetItems()) }, 1000},
		"crds":    {"\x22\x00", &crdevalv1.ValidateRequest{}, func(m proto.Message) int { return len(m.(*crdevalv1.ValidateRequest).GetCrds()) }, maxInlineCrds},
		"entries": {"\x12\x00", &crdevalv1.RegisterCrdsRequest{}, func(m proto.Message) int { return len(m.(*crdevalv1.RegisterCrdsRequest).GetEntries()) }, 1000},
		"objects": {"\x32\x00", &crdevalv1.DiffCrdRequest{}, func(m proto.Message) int { return len(m.(*crdevalv1.DiffCrdRequest).GetObjects()) }, 1000},
		"table":   {"\x2a\x00", &crdevalv1.TableRequest{}, func(m proto.Message) int { return len(m.(*crdevalv1.TableRequest).GetObjects()) }, 1000},
		"scale":   {"\x3a\x00", &crdevalv1.GetScaleRequest{}, func(m proto.Message) int { return len(m.(*crdevalv1.GetScaleRequest).GetCrds()) }, maxInlineCrds},
		"stored":  {"\x1a\x00", &crdevalv1.SetStoredVersionsRequest{}, func(m proto.Message) int { return len(m.(*crdevalv1.SetStoredVersionsRequest).GetStoredVersions()) }, 1000},
	} {
		message := append(bytes.Clone(head), bytes.Repeat([]byte(of.element), 2_000_000)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(message)}, of.request); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 2*uint64(len(message)) {
			t.Errorf("%s: %d bytes were allocated for a message of %d", name, taken, len(message))
		}
		if n := of.count(of.request); n != of.most+1 {
			t.Errorf("%s: %d elements", name, n)
		}
	}
}

// TestCodecBoundsRequests: every list of every request has a bound, where the codec looks for it.
func TestCodecBoundsRequests(t *testing.T) {
	c, ok := Codec(Limits{}).(codec)
	if !ok {
		t.Fatal("another codec")
	}
	lists := 0
	for _, file := range []protoreflect.FileDescriptor{
		crdevalv1.File_crdeval_v1_registry_proto, crdevalv1.File_crdeval_v1_evaluation_proto, crdevalv1.File_crdeval_v1_presentation_proto,
		crdevalv1.File_crdeval_v1_server_proto,
	} {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				input := file.Services().Get(i).Methods().Get(j).Input()
				kind, err := protoregistry.GlobalTypes.FindMessageByName(input.FullName())
				if err != nil {
					t.Fatal(err)
				}
				bounds := c.bounds(kind.New().Interface())
				for k := range input.Fields().Len() {
					f := input.Fields().Get(k)
					if !f.IsList() {
						continue
					}
					if lists++; f.Number() != bounds[0].field && f.Number() != bounds[1].field {
						t.Errorf("%s is not bounded", f.FullName())
					}
				}
			}
		}
	}
	if lists < 25 {
		t.Errorf("%d lists were looked at", lists)
	}
}

// TestCodecReadsRequests: what is within the limits is read as ever.
func TestCodecReadsRequests(t *testing.T) {
	c := Codec(Limits{MaxBatchItems: 3})
	want := &crdevalv1.ValidateRequest{Catalog: "default", Items: []*crdevalv1.EvaluationItem{{Crd: "a"}, {Crd: "b"}, {Crd: "c"}}, AsGiven: true}
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
	item := &crdevalv1.EvaluationItem{Object: json(bytes.Repeat([]byte("x"), 400))}
	r := &crdevalv1.ValidateRequest{Catalog: "default"}
	for range 100 {
		r.Items = append(r.Items, item)
	}
	message, err := proto.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	bounds := codec{items: 1000, crds: 16}.bounds(r)
	for b.Loop() {
		if len(cut(message, bounds)) != len(message) {
			b.Fatal("cut")
		}
	}
}
