package gateway

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// itemStream is a stream of items and results over gRPC: AdmitStream or ReadStream.
type itemStream interface {
	Header() (metadata.MD, error)
	CloseSend() error
	send([]*crdevalv1.Item) error
	receive() ([]result, error)
}

// result is what came of one item.
type result struct {
	message proto.Message
	places  func() []place // in the item's object
}

type admitStream struct {
	crdevalv1.EvaluationService_AdmitStreamClient
}

func (g *gateway) openAdmitStream(ctx context.Context, r *http.Request, catalog string) (itemStream, error) {
	first := &crdevalv1.AdmitStreamRequest{}
	if err := streamParameters(first, r.URL.RawQuery); err != nil {
		return nil, err
	}
	first.Catalog = catalog
	s, err := g.evaluation.AdmitStream(ctx)
	if err != nil {
		return nil, err
	}
	_ = s.Send(first) // why it failed is what receiving says
	return admitStream{s}, nil
}

func (s admitStream) send(items []*crdevalv1.Item) error {
	return s.Send(&crdevalv1.AdmitStreamRequest{Items: items})
}

func (s admitStream) receive() ([]result, error) {
	m, err := s.Recv()
	if err != nil {
		return nil, err
	}
	all := make([]result, len(m.GetResults()))
	for i, r := range m.GetResults() {
		all[i] = result{r, func() []place {
			v := r.GetVerdict()
			return append(placesOf(v.GetViolations(), v.GetForgiven()), placesOfChanges(v.GetPruned())...)
		}}
	}
	return all, nil
}

type readStream struct {
	crdevalv1.EvaluationService_ReadStreamClient
}

func (g *gateway) openReadStream(ctx context.Context, r *http.Request, catalog string) (itemStream, error) {
	first := &crdevalv1.ReadStreamRequest{}
	if err := streamParameters(first, r.URL.RawQuery); err != nil {
		return nil, err
	}
	first.Catalog = catalog
	s, err := g.evaluation.ReadStream(ctx)
	if err != nil {
		return nil, err
	}
	_ = s.Send(first)
	return readStream{s}, nil
}

func (s readStream) send(items []*crdevalv1.Item) error {
	return s.Send(&crdevalv1.ReadStreamRequest{Items: items})
}

func (s readStream) receive() ([]result, error) {
	m, err := s.Recv()
	if err != nil {
		return nil, err
	}
	all := make([]result, len(m.GetResults()))
	for i, r := range m.GetResults() {
		all[i] = result{r, func() []place { return placesOfChanges(r.GetTransformed().GetPruned()) }}
	}
	return all, nil
}

// paramBare is the query parameter that says that the lines are the objects themselves.
const paramBare = "bare"

// streamParameters reads the query into the first message of a stream: stage=STAGE_DECODE, options.view=VIEW_VERDICT. What no parameter can be is refused by name.
func streamParameters(first proto.Message, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return refusedParameter("%v", err)
	}
	fields := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given := values[name]
		switch {
		case len(given) > 1:
			return refusedParameter("the query parameter %q is given %d times", name, len(given))
		case name == paramBare:
			if given[0] != "true" && given[0] != "false" {
				return refusedParameter("the query parameter %q is %q: true or false is expected", name, given[0])
			}
		case !isStreamParameter(first.ProtoReflect().Descriptor(), name):
			return refusedParameter("unknown query parameter %q: this call takes %s", name, strings.Join(append(streamFields(first.ProtoReflect().Descriptor(), ""), paramBare), ", "))
		default:
			fields[name] = given
		}
	}
	if err := (&runtime.DefaultQueryParser{}).Parse(first, fields, utilities.NewDoubleArray(nil)); err != nil {
		return refusedParameter("%v", err)
	}
	return nil
}

func refusedParameter(format string, args ...any) error {
	return failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, fmt.Sprintf(format, args...), nil)
}

// isStreamParameter says whether a name, in either spelling, is that of a field that a parameter may set.
func isStreamParameter(md protoreflect.MessageDescriptor, name string) bool {
	first, rest, nested := strings.Cut(name, ".")
	fd := md.Fields().ByJSONName(first)
	if fd == nil {
		fd = md.Fields().ByTextName(first)
	}
	switch {
	case fd == nil || fd.IsList() || fd.IsMap() || fd.Name() == "catalog":
		return false
	case fd.Kind() != protoreflect.MessageKind:
		return !nested
	case fd.Message().ParentFile().Package() != ownPackage: // a duration, a time
		return !nested
	}
	return nested && isStreamParameter(fd.Message(), rest)
}

// streamFields lists what isStreamParameter lets pass.
func streamFields(md protoreflect.MessageDescriptor, before string) (all []string) {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		switch name := before + fd.JSONName(); {
		case !isStreamParameter(md, fd.JSONName()) && (fd.IsList() || fd.IsMap() || fd.Kind() != protoreflect.MessageKind):
		case isStreamParameter(md, fd.JSONName()):
			all = append(all, name)
		default:
			all = append(all, streamFields(fd.Message(), name+".")...)
		}
	}
	return all
}
