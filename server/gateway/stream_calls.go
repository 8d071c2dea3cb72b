package gateway

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// itemStream is a stream of items and results over gRPC: AdmitStream or ReadStream.
type itemStream interface {
	Header() (metadata.MD, error)
	CloseSend() error
	send([]*crdevalv1.EvaluationItem) error
	receive() ([]result, error)
}

// result is what came of one item.
type result struct {
	message proto.Message
	places  func() []place // in the item's object
}

// streamCall is a stream that is about to begin.
type streamCall struct {
	first proto.Message // into which the query goes
	begin func(ctx context.Context, catalog string, crds []*crdevalv1.Document) (itemStream, error)
}

// streamVerbs are the verbs of the streams, behind the catalog's path.
var streamVerbs = map[string]func(*gateway) streamCall{"admitStream": (*gateway).admitStream, "readStream": (*gateway).readStream}

type admitStream struct {
	crdevalv1.EvaluationService_AdmitStreamClient
}

func (g *gateway) admitStream() streamCall {
	first := &crdevalv1.AdmitStreamRequest{}
	return streamCall{first, func(ctx context.Context, catalog string, crds []*crdevalv1.Document) (itemStream, error) {
		first.Catalog, first.Crds = catalog, crds
		s, err := g.evaluation.AdmitStream(ctx)
		if err == nil {
			err = begun(s.Send(first))
		}
		return admitStream{s}, err
	}}
}

// begun is the error of sending the first message, unless receiving says why it failed.
func begun(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (s admitStream) send(items []*crdevalv1.EvaluationItem) error {
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
			return append(placesOf(v.GetViolations(), v.GetRatcheted()), placesOfChanges(v.GetChanges().GetPruned())...)
		}}
	}
	return all, nil
}

type readStream struct {
	crdevalv1.EvaluationService_ReadStreamClient
}

func (g *gateway) readStream() streamCall {
	first := &crdevalv1.ReadStreamRequest{}
	return streamCall{first, func(ctx context.Context, catalog string, crds []*crdevalv1.Document) (itemStream, error) {
		first.Catalog, first.Crds = catalog, crds
		s, err := g.evaluation.ReadStream(ctx)
		if err == nil {
			err = begun(s.Send(first))
		}
		return readStream{s}, err
	}}
}

func (s readStream) send(items []*crdevalv1.EvaluationItem) error {
	return s.Send(&crdevalv1.ReadStreamRequest{Items: items})
}

func (s readStream) receive() ([]result, error) {
	m, err := s.Recv()
	if err != nil {
		return nil, err
	}
	all := make([]result, len(m.GetResults()))
	for i, r := range m.GetResults() {
		all[i] = result{r, func() []place { return placesOfChanges(r.GetTransformed().GetChanges().GetPruned()) }}
	}
	return all, nil
}
