package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/gateway/codec"
	"github.com/crdeval/crdeval/server/transport"
)

const (
	mediaJSON = "application/json"
	mediaYAML = "application/yaml"
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

// receive admits a request and reads its body. isYAML says whether that is YAML instead of JSON, or returns a status.
// If there is an error, receive answers with it, and returns nil.
func (g *gateway) receive(w http.ResponseWriter, r *http.Request, isYAML func(*http.Request) (bool, error)) *body {
	b, err := g.readBody(w, r, isYAML)
	if err != nil {
		call.Of(r.Context()).Lease.Release() // before the rest of the body is discarded
		g.reject(w, r, err)
		return nil
	}
	return b
}

// readBody admits a request and reads its body. Errors are statuses.
func (g *gateway) readBody(w http.ResponseWriter, r *http.Request, isYAML func(*http.Request) (bool, error)) (*body, error) {
	if err := g.options.Admission.AdmitRequest(r); err != nil {
		return nil, err
	}
	yaml, err := isYAML(r)
	if err == nil {
		err = checkEncoding(r.Header)
	}
	if err != nil {
		return nil, err
	}
	b := &body{yaml: yaml, limits: g.options.Limits, lists: g.options.Lists, memory: bodyMemory{g.options.Bodies, r.Context()}}
	b.data, err = readAll(w, r, g.options.MaxBodyBytes, b.memory)
	return b, err
}

// slowBody is the age from which a call without its complete body no longer counts as active: it waits for its client,
// not for CPU.
const slowBody = 100 * time.Millisecond

// readAll reads a body of at most limit bytes, and reserves memory before it allocates. Errors are statuses.
func readAll(w http.ResponseWriter, r *http.Request, limit int64, memory bodyMemory) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(fmt.Sprintf("%d bytes", r.ContentLength), limit)
	}
	from := memory.of.newPaced(r, http.NewResponseController(w))
	defer from.done()
	defer call.Of(r.Context()).Slot.PauseAfter(slowBody)()
	data, err := readInto(from, r.ContentLength, limit, memory)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = from.late(fmt.Sprintf("the body arrived too slowly: the limit is %s plus one second per %d bytes, and %d bytes have arrived",
			memory.of.patience, transport.BytesPerSecond, from.read))
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return data, nil
}

// firstStep is how many bytes are reserved for a body before it arrives. Then the memory doubles as it fills.
const firstStep = 128 << 10

// readInto reads length bytes or, if length is negative, up to limit. Errors are those of the body, or statuses.
func readInto(from io.Reader, length, limit int64, memory bodyMemory) (data []byte, err error) {
	end := length
	if length < 0 {
		end = limit + 1
	}
	for int64(len(data)) != length {
		if len(data) == cap(data) {
			more := min(max(firstStep, int64(cap(data))), end-int64(cap(data)))
			if more == 0 {
				return nil, tooLarge(fmt.Sprintf("more than %d bytes", limit), limit)
			}
			if err := memory.take(min(more, limit-int64(cap(data)))); err != nil {
				return nil, err
			}
			data = append(make([]byte, 0, int64(cap(data))+more), data...)
		}
		n, err := from.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == nil, int64(len(data)) == length:
		case err == io.EOF && length > 0:
			return nil, io.ErrUnexpectedEOF
		case err == io.EOF && int64(len(data)) <= limit:
			return data, nil
		case err == io.EOF:
			return nil, tooLarge(fmt.Sprintf("more than %d bytes", limit), limit)
		default:
			return nil, err
		}
	}
	return data, nil
}

func tooLarge(size string, limit int64) error {
	return api.LimitExceeded("max_message_bytes", int(limit), "the body has %s and the limit max_message_bytes is %d: send fewer items in a call", size, limit)
}

// unreadable returns the status of an error of reading a body.
func unreadable(err error) error {
	if _, isStatus := status.FromError(err); isStatus { // nil is one as well
		return err
	}
	return malformed(fmt.Sprintf("the body could not be read to its end: %v", err))
}

// timeoutForm is the format of a gRPC timeout.
var timeoutForm = regexp.MustCompile(`^[0-9]{1,8}[HMSmun]$`)

// checkTimeout rejects a malformed Grpc-Timeout, and one of zero, which grpc-gateway takes for none.
func checkTimeout(h http.Header) error {
	const name = "Grpc-Timeout"
	for _, given := range h.Values(name) {
		switch {
		case !timeoutForm.MatchString(given):
			return invalid("the header %s is %q: it is a number of at most eight digits and a unit, H (hours), M (minutes), S (seconds), "+
				"m (milliseconds), u (microseconds) or n (nanoseconds), such as 500m", name, given)
		case strings.Trim(given[:len(given)-1], "0") == "":
			return failure(crdevalv1.ErrorReason_ERROR_REASON_DEADLINE,
				fmt.Sprintf("the deadline of the call passed before it began: the header %s is %q", name, given), nil)
		}
	}
	return nil
}

func checkEncoding(h http.Header) error {
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return unsupported("Content-Encoding %q is not supported: send the body without compression", enc)
	}
	return nil
}

// mediaOf returns the media type of a body in UTF-8, "" if none is given.
func mediaOf(h http.Header) (string, error) {
	given := h.Get("Content-Type")
	if given == "" {
		return "", nil
	}
	media, params, err := mime.ParseMediaType(given)
	if charset := params["charset"]; err == nil && charset != "" && !strings.EqualFold(charset, "utf-8") {
		err = fmt.Errorf("charset %s", charset)
	}
	return media, err
}

// isYAML reports whether a body is YAML instead of JSON. Other media types are errors. Browsers send forms, text and
// bodies without a Content-Type for pages of other sites without a CORS preflight.
func isYAML(r *http.Request) (bool, error) {
	media, err := mediaOf(r.Header)
	switch {
	case err != nil:
	case media == "" && r.ContentLength == 0, media == mediaJSON, media == "text/json", strings.HasSuffix(media, "+json"):
		return false, nil
	case media == mediaYAML, media == "application/x-yaml", media == "text/yaml", media == "text/x-yaml", strings.HasSuffix(media, "+yaml"):
		return true, nil
	}
	return false, unsupportedMedia(r, "application/json or application/yaml")
}

// unsupportedMedia returns the error of a body with an unsupported or missing media type.
func unsupportedMedia(r *http.Request, supported string) error {
	if given := r.Header.Get("Content-Type"); given != "" {
		return unsupported("Content-Type %q is not supported: send %s, in UTF-8", given, supported)
	}
	return unsupported("the request has a body but no Content-Type: send %s, in UTF-8", supported)
}

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
