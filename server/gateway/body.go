package gateway

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/gateway/codec"
)

// body is a request body that is read before the call. grpc-gateway sees an empty body and hands it to the marshaler.
type body struct {
	data   []byte
	yaml   bool
	limits document.Limits
	lists  map[string]api.ListLimit
	params map[string]string // of the path: the message may have the same values and no others
	memory bodyMemory

	bodyOrigins
	err error // of decoding
}

// Read implements io.Reader: grpc-gateway has nothing to read.
func (*body) Read([]byte) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (*body) Close() error { return nil }

// decode reads the body into v and keeps the error, of which grpc-gateway has only the text.
func (b *body) decode(v any) error {
	b.text = document.NewText(b.data, document.Position{})
	if b.err = b.decodeInto(v); b.err == nil {
		b.err = b.checkPath(v)
	}
	return b.err
}

// decodeInto leaves YAML documents YAML if the body is one, or has manifests. It converts another YAML body to JSON.
func (b *body) decodeInto(v any) error {
	if r, ok := v.(*crdevalv1.RegisterCrdsRequest); ok {
		if taken, err := b.takeManifests(r); taken {
			return err
		}
	}
	switch {
	case !b.yaml:
		err := codec.Unmarshal(b.data, v, b.lists)
		if err != nil {
			err = withHint(err, v)
		}
		return err
	case len(bytes.TrimSpace(b.data)) == 0:
		return codec.ErrEmpty
	}
	if v, ok := v.(**crdevalv1.Document); ok {
		return b.takeDocument(v)
	}
	return b.decodeYAML(v)
}

// withHint adds to the error of a JSON body what the client may have meant.
func withHint(err error, v any) error {
	at, ok := errors.AsType[*codec.Error](err)
	if !ok {
		return err
	}
	at.FindSyntax()
	s := codec.Scanner{JSON: at.Body}
	if first := s.Peek(); first != 0 && first != '{' && first != '[' {
		at.Text += "; if it is YAML, send Content-Type: application/yaml"
	}
	suggestItems(at, v)
	return err
}

// suggestItems explains the error if the body of a batch is an object, or has an object without its operation.
func suggestItems(e *codec.Error, v any) {
	var form string
	switch v.(type) {
	case batch[*crdevalv1.WriteItem]:
		form = `{"items": [{"create": {"object": …}}]}`
	case batch[*crdevalv1.ObjectItem]:
		form = `{"items": [{"object": …}]}`
	}
	if _, writes := v.(batch[*crdevalv1.WriteItem]); writes && strings.HasPrefix(e.Text, `unknown field "object"`) {
		e.Text += `; send {"create": {"object": …}}`
	}
	if form == "" || e.Path != "" || e.Kind == engine.TypeSyntax {
		return
	}
	s := codec.Scanner{JSON: e.Body}
	if members, _ := s.Members("apiVersion", "kind"); len(members) > 0 {
		e.Text = "the body is an object and not a request: send " + form + ", with the object in place of …"
	}
}

// batch is a request with items of type I.
type batch[I any] interface {
	GetItems() []I
}

// checkPath rejects a message that has another value for a field than the path.
func (b *body) checkPath(v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return nil
	}
	for name, given := range b.params {
		if other := fieldText(m.ProtoReflect(), name); other != "" && other != given {
			return invalid("%s is %q in the path and %q in the body: leave it out of the body", name, given, other)
		}
	}
	return nil
}

// fieldText returns the string at a path of fields such as context.catalog, "" for another field.
func fieldText(m protoreflect.Message, path string) string {
	name, rest, nested := strings.Cut(path, ".")
	fd := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	switch {
	case fd == nil:
	case nested && fd.Message() != nil && !fd.IsList():
		return fieldText(m.Get(fd).Message(), rest)
	case !nested && fd.Kind() == protoreflect.StringKind && !fd.IsList():
		return m.Get(fd).String()
	}
	return ""
}

// status returns the status of the error of decoding.
func (b *body) status() error {
	if _, isStatus := status.FromError(b.err); isStatus {
		return b.err
	}
	if limit, ok := errors.AsType[*document.LimitError](b.err); ok {
		return failure(crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, "the body: "+limit.Error(),
			map[string]string{"maximum": strconv.FormatInt(limit.Maximum, 10)})
	}
	if at, ok := errors.AsType[*codec.Error](b.err); ok {
		return malformedAt(at.Error(), at.Violation())
	}
	if syntax, ok := errors.AsType[*document.SyntaxError](b.err); ok {
		at := syntax.Position()
		return malformedAt(codec.AtPosition(at, syntax.Sentence()), engine.Violation{
			Type: engine.TypeSyntax, Message: syntax.Sentence(), Detail: syntax.Sentence(), Position: &at,
			Step: engine.StepDecode,
		})
	}
	if e, ok := errors.AsType[*engine.Error](b.err); ok && len(e.Violations) > 0 {
		return malformedAt(codec.AtPosition(*e.Position, e.Message), e.Violations...)
	}
	return malformed(b.err.Error())
}
