package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport"
)

// streamCall is a method that takes a stream of items and returns a stream of results.
type streamCall struct {
	method            string
	request, response reflect.Type
	item              func(object *crdevalv1.Document) proto.Message // returns an item, which is empty without an object
}

// streamVerbs are the streams, by their verb after the catalog's path.
var streamVerbs = map[string]streamCall{
	"admitStream": {
		crdevalv1.EvaluationService_AdmitStream_FullMethodName,
		reflect.TypeFor[crdevalv1.AdmitStreamRequest](), reflect.TypeFor[crdevalv1.AdmitStreamResponse](), creation,
	},
	"readStream": {
		crdevalv1.EvaluationService_ReadStream_FullMethodName,
		reflect.TypeFor[crdevalv1.ReadStreamRequest](), reflect.TypeFor[crdevalv1.ReadStreamResponse](),
		func(object *crdevalv1.Document) proto.Message { return &crdevalv1.ObjectItem{Object: object} },
	},
}

// creation returns the creation of an object as an item.
func creation(object *crdevalv1.Document) proto.Message {
	m := &crdevalv1.WriteItem{}
	if object != nil {
		m.Write = &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: object}}
	}
	return m
}

// itemStream is a stream of items and results.
type itemStream struct {
	grpc.ClientStream
	call streamCall
}

// open begins the call with its first message, which has the fields of the query and the catalog.
func (c streamCall) open(
	ctx context.Context, conn grpc.ClientConnInterface, first proto.Message, catalog string,
) (*itemStream, error) {
	about := first.(interface { //nolint:forcetypeassert // all streams begin with a context
		GetContext() *crdevalv1.EvaluationContext
	}).GetContext()
	if about == nil {
		about = &crdevalv1.EvaluationContext{}
		reflect.ValueOf(first).Elem().FieldByName("Context").Set(reflect.ValueOf(about))
	}
	about.Catalog = catalog
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, c.method)
	if err == nil {
		err = s.SendMsg(first)
	}
	if err != nil && !errors.Is(err, io.EOF) { // after io.EOF receiving returns the error
		return nil, err
	}
	return &itemStream{s, c}, nil
}

func (s *itemStream) send(items []proto.Message) error {
	request := reflect.New(s.call.request)
	list := request.Elem().FieldByName("Items")
	for _, item := range items {
		list.Set(reflect.Append(list, reflect.ValueOf(item)))
	}
	return s.SendMsg(request.Interface())
}

func (s *itemStream) receive() ([]proto.Message, error) {
	response := reflect.New(s.call.response).Interface().(proto.Message)
	if err := s.RecvMsg(response); err != nil {
		return nil, err
	}
	list := reflect.ValueOf(response).Elem().FieldByName("Results")
	results := make([]proto.Message, list.Len())
	for i := range results {
		results[i] = list.Index(i).Interface().(proto.Message)
	}
	return results, nil
}

// stream answers AdmitStream and ReadStream: it reads items from the body as they arrive, and writes a line of JSON for
// each. Streams of grpc-gateway have no path parameters, and end without an error at what is not JSON.
func (g *gateway) stream(w http.ResponseWriter, r *http.Request, call streamCall, catalog string) {
	serving, cancel := context.WithCancel(clientContext(r))
	defer cancel()
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // HTTP/2 is full duplex, and returns an error
	from, err := g.openStream(serving, r, call, catalog)
	if err != nil {
		g.reject(w, r, err)
		return
	}
	setStreamHeaders(w)
	if r.ProtoMajor == 1 && strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		w.WriteHeader(http.StatusContinue) // net/http does not send it after another status, and clients such as curl would wait
	}
	w.WriteHeader(http.StatusOK)
	if control.Flush() != nil {
		return
	}
	read, written, lines := make(chan error, 1), make(chan error, 1), make(chan []byte, 1)
	go func() { read <- from.read(serving) }()
	go func() { written <- from.writeResults(serving, lines) }()
	copyLines(w, control, transport.StreamPatience, lines)
	cancel()
	select {
	case err = <-read:
	default: // many clients read the last line when they have sent everything: the rest of the body is discarded for a while
		_ = control.SetReadDeadline(time.Now().Add(g.options.Bodies.restPatience()))
		err = <-read
	}
	for range lines { // until the results have ended as well
	}
	raise(err, <-written)
}

// clientContext returns a context that ends when the client of a stream has disconnected. net/http ends the context of
// an HTTP/1.1 request when the client stops sending, although it may still read. Only a failed write shows the end.
func clientContext(r *http.Request) context.Context {
	if r.ProtoMajor == 1 {
		return context.WithoutCancel(r.Context())
	}
	return r.Context()
}

// openStream begins the call. When it returns, the server has accepted the first message. Errors are statuses.
func (g *gateway) openStream(
	ctx context.Context, r *http.Request, kind streamCall, catalog string,
) (*streamReader, error) {
	if err := g.options.Entry.AdmitRequest(r); err != nil {
		return nil, err
	}
	if err := checkEncoding(r.Header); err != nil {
		return nil, err
	}
	yaml, err := isYAMLStream(r)
	if err != nil {
		return nil, err
	}
	if ctx, err = runtime.AnnotateContext(ctx, g.mux, r, crdevalv1.EvaluationService_AdmitStream_FullMethodName); err != nil {
		return nil, err
	}
	first := reflect.New(kind.request).Interface().(proto.Message)
	bare, err := streamQuery(first, r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	from := newStreamReader(r.Body, kind.item, g.options.MaxBodyBytes, bodyMemory{g.options.Bodies, ctx}, yaml, bare)
	call.Of(ctx).Origins = from.origins
	to, err := kind.open(ctx, g.conn, first, catalog)
	if err != nil {
		return nil, err
	}
	// A server that ends the call at once sends no header.
	if header, err := to.Header(); err != nil || header == nil {
		if _, err = to.receive(); err == nil || errors.Is(err, io.EOF) {
			err = status.Error(codes.Internal, "the stream ended before it began")
		}
		return nil, err
	}
	from.to = to
	return from, nil
}

// streamQuery reads the query of a stream into its first message. bare says that lines are objects.
func streamQuery(first proto.Message, query string) (bare bool, err error) {
	values, err := url.ParseQuery(query)
	if err == nil {
		err = checkQuery(parametersOf(first.ProtoReflect().Descriptor(), "{context.catalog}"), values, "bare")
	}
	given := values.Get("bare")
	if bare = given == "true"; err == nil && values.Has("bare") && !bare && given != "false" {
		err = fmt.Errorf("the query parameter %q is %q: %s is expected", "bare", given, "true or false")
	}
	if values.Del("bare"); err == nil {
		err = runtime.PopulateQueryParameters(first, values, &utilities.DoubleArray{})
	}
	if err != nil {
		return false, invalid("%v", err)
	}
	return bare, nil
}
