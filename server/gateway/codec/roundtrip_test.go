package codec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/crdeval/crdeval/engine/testenv"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// allMessages are the message types of the API.
func allMessages() []protoreflect.MessageType {
	var all []protoreflect.MessageType
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		if mt.Descriptor().ParentFile().Package() == OwnPackage && !mt.Descriptor().IsMapEntry() {
			all = append(all, mt)
		}
		return true
	})
	return all
}

// generator makes random messages.
type generator struct{ *rand.Rand }

var documents = []string{
	`{}`, `[]`, `0`, `-0.0`, `1.0`, `9007199254740993`, `1e400`, `true`, `"\ud83d\ude00 \" \\ } ]"`, `""`, `{"a":{"b":[1,2.50,null,{"c":"}"}]}}`,
	"{\n\t\"apiVersion\" : \"v1\" }", `[[[[]]]]`, `{"a":1,"a":2}`, "\"\u00e9\"",
}

var texts = []string{"", "a", "default", "with \"quotes\" and \\", "line\nfeed\ttab\r", "\x00\x01\x1f\x7f", "é ü 😀 \u2028", "<&>", "`", "null", "18446744073709551616"}

func (g generator) message(mt protoreflect.MessageType) protoreflect.Message {
	m := mt.New()
	switch v := m.Interface().(type) {
	case *crdevalv1.Document:
		v.Content = &crdevalv1.Document_Json{Json: []byte(documents[g.IntN(len(documents))])}
		return m
	case *durationpb.Duration:
		v.Seconds, v.Nanos = g.Int64N(1e9), int32(g.IntN(1e9))
		return m
	case *timestamppb.Timestamp:
		v.Seconds, v.Nanos = g.Int64N(4e9), int32(g.IntN(1e9))
		return m
	case *statusv1.Status:
		v.Code, v.Message = int32(g.IntN(17)), texts[g.IntN(len(texts))]
		detail, _ := anypb.New(&errdetails.ErrorInfo{Reason: "CRD_NOT_FOUND", Domain: "crdeval.dev", Metadata: map[string]string{"crd": texts[g.IntN(len(texts))]}})
		v.Details = append(v.Details, detail)
		return m
	}
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		switch {
		case g.IntN(4) == 0 || (fd.ContainingOneof() != nil && m.WhichOneof(fd.ContainingOneof()) != nil):
		case fd.IsList():
			l := m.Mutable(fd).List()
			for range g.IntN(4) {
				if fd.Message() != nil {
					l.Append(protoreflect.ValueOfMessage(g.message(l.NewElement().Message().Type())))
				} else {
					l.Append(g.scalar(fd))
				}
			}
		case fd.Message() != nil:
			m.Set(fd, protoreflect.ValueOfMessage(g.message(m.NewField(fd).Message().Type())))
		default:
			m.Set(fd, g.scalar(fd))
		}
	}
	return m
}

func (g generator) scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	n := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1<<53 + 1, g.Int64()}[g.IntN(7)]
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n&1 == 1)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n) / 3)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(texts[g.IntN(len(texts))])
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(g.IntN(7))) // 6 is no value of some
	}
	panic(fmt.Sprintf("no generator for %s", fd.Kind()))
}

func roundTrip(t *testing.T, mt protoreflect.MessageType, seed uint64) {
	t.Helper()
	m := generator{rand.New(rand.NewPCG(seed, 1))}.message(mt).Interface()
	text, err := Marshal(m)
	if err != nil {
		t.Fatalf("%s, seed %d: %v\n%s", mt.Descriptor().Name(), seed, err, prototext.Format(m))
	}
	back := mt.New().Interface()
	if err := Unmarshal(text, back, nil); err != nil {
		t.Fatalf("%s, seed %d: %v\n%s", mt.Descriptor().Name(), seed, err, text)
	}
	if !proto.Equal(m, back) {
		t.Fatalf("%s, seed %d: decode(encode(m)) is another message\n%s\nm:    %s\nback: %s", mt.Descriptor().Name(), seed, text, prototext.Format(m), prototext.Format(back))
	}
	if holdsDocument(mt.Descriptor(), map[protoreflect.FullName]bool{}) {
		return
	}
	// Without documents the text is protobuf's own JSON, in both directions.
	back = mt.New().Interface()
	if err := protojson.Unmarshal(text, back); err != nil || !proto.Equal(m, back) {
		t.Fatalf("%s, seed %d: protojson reads %s as another message (%v)", mt.Descriptor().Name(), seed, text, err)
	}
	if text, err = protojson.Marshal(m); err != nil {
		t.Fatal(err)
	}
	back = mt.New().Interface()
	if err := Unmarshal(text, back, nil); err != nil || !proto.Equal(m, back) {
		t.Fatalf("%s, seed %d: protojson writes %s, which reads as another message (%v)", mt.Descriptor().Name(), seed, text, err)
	}
}

func holdsDocument(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if md.FullName() == DocumentName {
		return true
	}
	if seen[md.FullName()] {
		return false
	}
	seen[md.FullName()] = true
	for i := range md.Fields().Len() {
		if sub := md.Fields().Get(i).Message(); sub != nil && holdsDocument(sub, seen) {
			return true
		}
	}
	return false
}

func TestRoundTripOfEveryMessage(t *testing.T) {
	testenv.SingleGoroutine(t)
	all := allMessages()
	if len(all) < 30 {
		t.Fatalf("only %d messages found", len(all))
	}
	for _, mt := range all {
		for seed := range uint64(200) {
			roundTrip(t, mt, seed)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	all := allMessages()
	for i := range all {
		f.Add(uint64(i), uint64(i))
	}
	f.Fuzz(func(t *testing.T, which, seed uint64) { roundTrip(t, all[which%uint64(len(all))], seed) })
}

// FuzzDecode throws any bytes at the decoder: it must not panic, and what it takes it must be able to write again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"items":[{"create":{"object":{"a":[1,"}"]}},"crd":"x"}],"context":{"options":{"itemTimeout":"1s","view":"OBJECT_VIEW_CHANGED"},"crds":[{}]}}`))
	f.Add([]byte(`{"items":[{"create":{"object":tru}}],"asGiven":true`))
	f.Add([]byte("\"\\"))
	f.Fuzz(func(t *testing.T, src []byte) {
		var m crdevalv1.ValidateRequest
		if Unmarshal(src, &m, nil) != nil {
			return
		}
		text, err := Marshal(&m)
		if err != nil {
			t.Fatalf("%q is read and cannot be written: %v", src, err)
		}
		var back crdevalv1.ValidateRequest
		if err := Unmarshal(text, &back, nil); err != nil || !proto.Equal(&m, &back) {
			t.Fatalf("%q is written as %q, which is another message (%v)", src, text, err)
		}
	})
}
