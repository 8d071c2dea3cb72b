package metamorphic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/crdeval/crdeval/server/gateway/codec"

	"google.golang.org/genproto/googleapis/api/annotations"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// restConn is a connection for generated gRPC clients that calls the REST API. It finds paths in the annotations of the
// methods. A stream sends all its messages when it is closed for sending.
type restConn struct {
	client *http.Client
	yaml   bool // send bodies as YAML if that does not change them
}

func newRESTConn(dial func(ctx context.Context, network, address string) (net.Conn, error)) *restConn {
	return &restConn{client: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

func (c *restConn) close() { c.client.CloseIdleConnections() }

// Invoke implements grpc.ClientConnInterface.
func (c *restConn) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	rule, err := ruleOf(method)
	if err != nil {
		return err
	}
	body, err := c.send(ctx, rule, args.(proto.Message), nil)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return codec.Unmarshal(text, reply, nil)
}

// NewStream implements grpc.ClientConnInterface.
func (c *restConn) NewStream(
	ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return &restStream{conn: c, ctx: ctx, method: method, ready: make(chan struct{})}, nil
}

// httpRule is how REST calls a method.
type httpRule struct{ verb, path, body string }

// ruleOf returns the annotation of a method. A stream of items has the path of the call of the same items.
func ruleOf(method string) (httpRule, error) {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	unary := strings.TrimSuffix(name, "Stream")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(unary))
	if err != nil {
		return httpRule{}, err
	}
	rule := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule)
	switch {
	case rule.GetGet() != "":
		return httpRule{http.MethodGet, rule.GetGet(), ""}, nil
	case rule.GetDelete() != "":
		return httpRule{http.MethodDelete, rule.GetDelete(), ""}, nil
	case unary != name:
		return httpRule{http.MethodPost, rule.GetPost() + "Stream", "*"}, nil
	}
	return httpRule{http.MethodPost, rule.GetPost(), rule.GetBody()}, nil
}

// send sends a request and returns the body of a successful response. lines, if any, are the body.
func (c *restConn) send(
	ctx context.Context, rule httpRule, message proto.Message, lines []byte,
) (io.ReadCloser, error) {
	m := proto.Clone(message).ProtoReflect()
	path := fillPath(rule.path, m)
	text, media := lines, "application/x-ndjson"
	if lines == nil && rule.body != "" {
		var err error
		if text, media, err = c.body(rule, m); err != nil {
			return nil, err
		}
	}
	query := url.Values{}
	if rule.body != "*" || lines != nil {
		addQuery(query, "", m)
	}
	address := "http://metamorphic" + path + "?" + query.Encode()
	r, err := http.NewRequestWithContext(ctx, rule.verb, address, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if text != nil {
		r.Header.Set("Content-Type", media)
	}
	response, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer func() { _ = response.Body.Close() }()
	text, err = io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return nil, statusError(text)
}

// statusError returns the error that a google.rpc.Status as JSON describes.
func statusError(text []byte) error {
	s := &statusv1.Status{}
	if err := protojson.Unmarshal(text, s); err != nil {
		return fmt.Errorf("this is not a google.rpc.Status: %w: %s", err, text)
	}
	return status.ErrorProto(s)
}

// fillPath replaces the variables of a path by fields of the message, and clears these.
func fillPath(path string, m protoreflect.Message) string {
	for {
		before, rest, found := strings.Cut(path, "{")
		if !found {
			return path
		}
		variable, after, _ := strings.Cut(rest, "}")
		at := m
		names := strings.Split(variable, ".")
		for _, name := range names[:len(names)-1] {
			at = at.Mutable(at.Descriptor().Fields().ByName(protoreflect.Name(name))).Message()
		}
		f := at.Descriptor().Fields().ByName(protoreflect.Name(names[len(names)-1]))
		path = before + url.PathEscape(at.Get(f).String()) + after
		at.Clear(f)
	}
}

// body returns the body of a request and clears its fields.
func (c *restConn) body(rule httpRule, m protoreflect.Message) (text []byte, media string, err error) {
	content := m.Interface()
	if rule.body != "*" {
		f := m.Descriptor().Fields().ByName(protoreflect.Name(rule.body))
		content = m.Get(f).Message().Interface()
		defer m.Clear(f)
	}
	if text, err = codec.Marshal(content); err != nil {
		return nil, "", err
	}
	if c.yaml && !bytes.Contains(text, []byte(`\u`)) {
		if n, err := jsontree.Parse(text); err == nil && sameInYAML(n) {
			return toYAML(n), "application/yaml", nil
		}
	}
	return text, "application/json", nil
}

// addQuery adds the fields of a message as query parameters.
func addQuery(query url.Values, prefix string, m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := prefix + f.JSONName()
		switch {
		case f.IsList():
			for i := range v.List().Len() {
				query.Add(name, queryText(f, v.List().Get(i)))
			}
		case f.Message() != nil:
			addQuery(query, name+".", v.Message())
		default:
			query.Set(name, queryText(f, v))
		}
		return true
	})
}

func queryText(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if e := f.Enum(); e != nil {
		return string(e.Values().ByNumber(v.Enum()).Name())
	}
	return v.String()
}

// restStream is a stream of a restConn.
type restStream struct {
	conn   *restConn
	ctx    context.Context //nolint:containedctx // a grpc.ClientStream has one
	method string
	sent   []proto.Message
	ready  chan struct{} // closed by CloseSend
	body   io.ReadCloser
	lines  *bufio.Reader
	failed error
}

var _ grpc.ClientStream = (*restStream)(nil)

// Context implements grpc.ClientStream.
func (s *restStream) Context() context.Context { return s.ctx }

// Header implements grpc.ClientStream.
func (*restStream) Header() (metadata.MD, error) { return metadata.MD{}, nil }

// Trailer implements grpc.ClientStream.
func (*restStream) Trailer() metadata.MD { return nil }

// SendMsg implements grpc.ClientStream.
func (s *restStream) SendMsg(m any) error {
	s.sent = append(s.sent, proto.Clone(m.(proto.Message)))
	return nil
}

// CloseSend implements grpc.ClientStream. It sends the request.
func (s *restStream) CloseSend() error {
	defer close(s.ready)
	rule, err := ruleOf(s.method)
	if err != nil {
		return err
	}
	var lines []byte
	if strings.HasSuffix(s.method, "Stream") {
		if lines, err = itemLines(s.sent); err != nil {
			return err
		}
	}
	if s.body, s.failed = s.conn.send(s.ctx, rule, s.sent[0], lines); s.failed == nil {
		s.lines = bufio.NewReader(s.body)
	}
	return nil
}

// itemLines returns the items of all messages, and removes them from the messages.
func itemLines(messages []proto.Message) (lines []byte, err error) {
	lines = []byte{}
	for _, m := range messages {
		m := m.ProtoReflect()
		f := m.Descriptor().Fields().ByName("items")
		for i := range m.Get(f).List().Len() {
			line, err := codec.Marshal(m.Get(f).List().Get(i).Message().Interface())
			if err != nil {
				return nil, err
			}
			lines = append(lines, line...)
		}
		m.Clear(f)
	}
	return lines, nil
}

// RecvMsg implements grpc.ClientStream.
func (s *restStream) RecvMsg(m any) error {
	<-s.ready
	if s.failed != nil {
		return s.failed
	}
	line, err := s.lines.ReadBytes('\n')
	if line = bytes.TrimSpace(line); len(line) == 0 {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		if s.ctx.Err() != nil {
			err = status.FromContextError(s.ctx.Err()).Err()
		}
		_ = s.body.Close()
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return err
	}
	at, isResult := fields["index"]
	if failure, failed := fields["error"]; failed && !isResult {
		_ = s.body.Close()
		return statusError(failure)
	}
	if !isResult {
		return codec.Unmarshal(line, m, nil)
	}
	delete(fields, "index")
	delete(fields, "line")
	line = append(line[:0], '{')
	for name, value := range fields { // a result has one
		line = append(append(append(line, jsontree.Quote(name)...), ':'), value...)
	}
	line = append(line, '}')
	message := m.(proto.Message).ProtoReflect()
	list := message.Mutable(message.Descriptor().Fields().ByName("results")).List()
	result := list.NewElement()
	if err := codec.Unmarshal(line, result.Message().Interface(), nil); err != nil {
		return err
	}
	list.Append(result)
	var first int64
	if err := json.Unmarshal(at, &first); err != nil {
		return err
	}
	message.Set(message.Descriptor().Fields().ByName("first_index"), protoreflect.ValueOfInt64(first))
	return nil
}
