package main

import (
	"context"
	"errors"

	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/runtime/schema"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/message"
)

// remoteSuite evaluates the tests of a suite with the service of --server. Other CRDs than those of the suite can be
// registered there.
type remoteSuite struct {
	*service
	names map[schema.GroupKind]string
}

func (s *service) evaluator(names map[schema.GroupKind]string) suite.Evaluator {
	return &remoteSuite{s, names}
}

// Admit evaluates a write.
func (e *remoteSuite) Admit(
	ctx context.Context, apiVersion, kind string, w engine.Write, o engine.AdmitOptions,
) (*engine.Verdict, error) {
	sent := message.Write(e.names[schema.GroupKind{Group: workspace.GroupOf(apiVersion), Kind: kind}], w)
	results, err := e.client().AdmitItems(ctx, []*crdevalv1.WriteItem{sent},
		crdeval.AdmitOptions{Evaluation: message.AdmitOptions(o)})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return nil, e.manifestError(err)
	}
	return message.Verdict(results[0].Verdict), nil
}

// ReadStored reads an object as an API server reads it from its storage, and validates it.
func (e *remoteSuite) ReadStored(
	ctx context.Context, apiVersion, kind string, object []byte, o engine.ValidateOptions,
) ([]engine.FieldChange, *engine.Verdict, error) {
	sent := &crdevalv1.ObjectItem{
		Crd: e.names[schema.GroupKind{Group: workspace.GroupOf(apiVersion), Kind: kind}], Object: crdeval.Document(object),
	}
	read, err := e.client().ReadItems(ctx, []*crdevalv1.ObjectItem{sent}, crdeval.ReadOptions{})
	if err == nil {
		err = read[0].Err
	}
	if err != nil {
		return nil, nil, e.manifestError(err)
	}
	if rejection := read[0].GetRejection(); rejection != nil {
		return nil, nil, errors.New(rejection.GetMessage())
	}
	write := crdeval.Create(read[0].GetObject().GetJson())
	write.Crd = sent.GetCrd()
	request := &crdevalv1.ValidateRequest{
		Context: e.evaluationContext(message.ValidateOptions(o), e.given.documents()...), Items: []*crdevalv1.WriteItem{write},
		AsGiven: o.AsGiven,
	}
	answer, err := e.Evaluation().Validate(ctx, request)
	if err == nil {
		err = status.ErrorProto(answer.GetResults()[0].GetError())
	}
	if err != nil {
		return nil, nil, e.manifestError(err)
	}
	pruned := message.Changes(read[0].GetChanges().GetPruned())
	return pruned, message.Verdict(answer.GetResults()[0].GetVerdict()), nil
}
