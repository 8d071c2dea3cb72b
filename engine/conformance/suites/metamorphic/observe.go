package metamorphic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// An observation is one message that a client received, without what may differ between runs.
type observation struct {
	// at is the operation, label the part of its answer.
	at      int
	label   string
	message proto.Message
}

// String prints the observation.
func (o *observation) String() string {
	return fmt.Sprintf("operation %d, %s: %s", o.at, o.label, print(o.message))
}

// observer collects the observations of a run.
type observer struct {
	positions bool // positions are compared
	nulls     bool // null and an absent document are compared
	exact     bool // one of the runs takes the exact path
	names     map[string]string
	all       []observation
}

// newObserver returns an observer of a run that is compared with a configuration.
func newObserver(c configuration) *observer {
	rest := c.Transport == transportREST
	return &observer{
		positions: !c.YAML && !rest, nulls: !rest, exact: c.Exact, names: map[string]string{},
	}
}

// add adds a message, or the status of err.
func (o *observer) add(at int, label string, m proto.Message, err error) {
	if err != nil {
		m = status.Convert(err).Proto()
	}
	m = proto.Clone(m) // messages of calls in the process can share parts with the server
	o.normalize(m.ProtoReflect())
	o.all = append(o.all, observation{at, label, m})
}

// opaque are the fields whose texts clients cannot interpret.
var opaque = map[protoreflect.Name]bool{"token": true, "etag": true, "next_page_token": true}

// normalize replaces opaque texts by the order of their appearance, and removes positions unless they are compared.
func (o *observer) normalize(m protoreflect.Message) {
	if packed, ok := m.Interface().(*anypb.Any); ok {
		o.normalizeDetail(packed)
		return
	}
	if s, ok := m.Interface().(*rpcstatus.Status); ok && !o.positions {
		s.Message = unplaced(s)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() != nil && f.Message().Name() == "Position":
			if !o.positions {
				m.Clear(f)
			}
		case f.Message() != nil && f.Message().Name() == "Document" && !f.IsList():
			if d := v.Message().Interface().(*crdevalv1.Document); !o.nulls && string(d.GetJson()) == "null" {
				m.Clear(f)
			}
		case f.IsMap() && f.MapValue().Message() == nil:
			o.normalizeMap(v.Map())
		case f.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				o.normalize(v.Message())
				return true
			})
		case f.Message() != nil && f.IsList():
			for i := range v.List().Len() {
				o.normalize(v.List().Get(i).Message())
			}
		case f.Message() != nil:
			o.normalize(v.Message())
		case opaque[f.Name()]:
			m.Set(f, protoreflect.ValueOfString(o.name(v.String())))
		case m.Descriptor().Name() == "Hint" && f.Name() == "text" && !o.positions:
			m.Set(f, protoreflect.ValueOfString(line.ReplaceAllString(v.String(), "line")))
		case f.Kind() == protoreflect.StringKind && !f.IsList() && f.Name() == "message":
			m.Set(f, protoreflect.ValueOfString(plainText(v.String())))
		}
		return true
	})
}

// plainText removes from a message the index of an item, which depends on the batch, and the name of the catalog.
func plainText(message string) string {
	message = strings.ReplaceAll(message, `catalog "`+bareCatalog+`"`, `catalog "`+catalog+`"`)
	return index.ReplaceAllString(message, "items[]")
}

var (
	index = regexp.MustCompile(`items\[\d+\]`)
	line  = regexp.MustCompile(`line \d+`)
)

func (o *observer) normalizeMap(m protoreflect.Map) {
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if _, isText := v.Interface().(string); isText {
			m.Set(k, protoreflect.ValueOfString(plainText(v.String())))
		}
		switch k.String() {
		case "etag", "token":
			m.Set(k, protoreflect.ValueOfString(o.name(v.String())))
		case "catalog":
			m.Set(k, protoreflect.ValueOfString(catalog))
		case "line", "column":
			if !o.positions {
				m.Clear(k)
			}
		}
		return true
	})
}

// unplaced returns the message of a status. That of a document that cannot be parsed names the document if its position
// in the body of a request is unknown.
func unplaced(s *rpcstatus.Status) string {
	for _, packed := range s.GetDetails() {
		var list crdevalv1.ViolationList
		if packed.UnmarshalTo(&list) != nil {
			continue
		}
		for _, v := range list.GetViolations() {
			if v.GetType() == engine.TypeSyntax {
				return v.GetMessage()
			}
		}
	}
	return s.GetMessage()
}

// normalizeDetail normalizes the message in a detail of a status.
func (o *observer) normalizeDetail(packed *anypb.Any) {
	inner, err := packed.UnmarshalNew()
	if err != nil {
		return // compared as bytes
	}
	o.normalize(inner.ProtoReflect())
	if text, err := (proto.MarshalOptions{Deterministic: true}).Marshal(inner); err == nil {
		packed.Value = text
	}
}

// name returns the name of an opaque text.
func (o *observer) name(text string) string {
	if text == "" {
		return ""
	}
	if o.names[text] == "" {
		o.names[text] = "#" + strconv.Itoa(len(o.names)+1)
	}
	return o.names[text]
}

// compare returns the first difference between two runs and the part of the answer that differs, or "".
func compare(want, got []observation) (cause, difference string) {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return "fewer observations", "only the reference has " + want[i].String()
		case i >= len(want):
			return "more observations", "the reference does not have " + got[i].String()
		case want[i].at != got[i].at || want[i].label != got[i].label:
			return "other observations", got[i].String() + "\ninstead of " + want[i].String()
		case !proto.Equal(want[i].message, got[i].message):
			a, b := apart(print(want[i].message), print(got[i].message))
			return want[i].label, fmt.Sprintf("operation %d, %s:\nreference     %s\nconfiguration %s",
				want[i].at, want[i].label, a, b)
		}
	}
	return "", ""
}

// shown is how many bytes around the first difference of long texts are shown.
const shown = 400

// apart cuts two texts to the surroundings of their first difference.
func apart(a, b string) (before, after string) {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	cut := func(s string) string {
		first, last := max(0, n-shown), min(len(s), n+shown)
		s = strings.ToValidUTF8(s[first:last], "")
		if first > 0 {
			s = "…" + s
		}
		return s
	}
	return cut(a), cut(b)
}

// print returns a message as JSON, with documents as text.
func print(m proto.Message) string {
	text, err := protojson.Marshal(m)
	if err != nil {
		return err.Error()
	}
	var compact bytes.Buffer
	if json.Compact(&compact, text) != nil {
		return string(text)
	}
	return encoded.ReplaceAllStringFunc(compact.String(), func(field string) string {
		text := encoded.FindStringSubmatch(field)[1]
		document, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return field
		}
		return string(document)
	})
}

// encoded is a document in the JSON of a message.
var encoded = regexp.MustCompile(`\{"json":"([A-Za-z0-9+/=]*)"\}`)
