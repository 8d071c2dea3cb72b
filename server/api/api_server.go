package api

import (
	"context"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/publish"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
)

// apiServerService has the calls that only API servers make. Its batches and streams are those of evaluation.
type apiServerService struct {
	crdevalv1.UnsafeApiServerServiceServer
	evaluation *evaluationService
}

// DecodeBody decodes each body before admission.
func (s *apiServerService) DecodeBody(
	ctx context.Context, r *crdevalv1.DecodeBodyRequest,
) (*crdevalv1.DecodeBodyResponse, error) {
	results, err := evaluateAll(ctx, s.evaluation, r, nothingElse, decoding)
	return &crdevalv1.DecodeBodyResponse{Results: results}, err
}

// DecodeBodyStream is DecodeBody for a stream.
func (s *apiServerService) DecodeBodyStream(
	g grpc.BidiStreamingServer[crdevalv1.DecodeBodyStreamRequest, crdevalv1.DecodeBodyStreamResponse],
) error {
	return serveStream(s.evaluation, g, streamKind[*crdevalv1.DecodeBodyStreamRequest, *crdevalv1.BodyItem, crdevalv1.DecodeBodyResult]{
		receive:    g.Recv,
		setOptions: func(*batch, *crdevalv1.DecodeBodyStreamRequest) error { return nil },
		evaluator:  decoding,
		send: func(first int64, results []*crdevalv1.DecodeBodyResult) error {
			return g.Send(&crdevalv1.DecodeBodyStreamResponse{FirstIndex: first, Results: results})
		},
	})
}

// ValidateDecoded validates each object after admission.
func (s *apiServerService) ValidateDecoded(
	ctx context.Context, r *crdevalv1.ValidateDecodedRequest,
) (*crdevalv1.ValidateDecodedResponse, error) {
	results, err := evaluateAll(ctx, s.evaluation, r, nothingElse, validatingDecoded)
	return &crdevalv1.ValidateDecodedResponse{Results: results}, err
}

// ValidateDecodedStream is ValidateDecoded for a stream.
func (s *apiServerService) ValidateDecodedStream(
	g grpc.BidiStreamingServer[crdevalv1.ValidateDecodedStreamRequest, crdevalv1.ValidateDecodedStreamResponse],
) error {
	return serveStream(s.evaluation, g, streamKind[*crdevalv1.ValidateDecodedStreamRequest, *crdevalv1.DecodedItem, crdevalv1.ValidateDecodedResult]{
		receive:    g.Recv,
		setOptions: func(*batch, *crdevalv1.ValidateDecodedStreamRequest) error { return nil },
		evaluator:  validatingDecoded,
		send: func(first int64, results []*crdevalv1.ValidateDecodedResult) error {
			return g.Send(&crdevalv1.ValidateDecodedStreamResponse{FirstIndex: first, Results: results})
		},
	})
}

// nothingElse is for requests without options of their own.
func nothingElse(*batch) error { return nil }

func (o *options) forServer() kubeserver.WriteOptions {
	return kubeserver.WriteOptions{
		FieldValidation: o.fieldValidation, View: o.view, WithStatus: o.withStatus, Trace: o.trace,
	}
}

// decoding is the evaluator of DecodeBody.
var decoding = evaluator[*crdevalv1.BodyItem, crdevalv1.DecodeBodyResult]{
	evaluate: func(
		b *batch, ctx context.Context, r *resolver, m *crdevalv1.BodyItem,
	) (*crdevalv1.DecodeBodyResult, error) {
		w, body, err := bodyWrite(r.origins, m)
		if err != nil {
			return nil, err
		}
		var out kubeserver.BodyAndValidateVerdict
		v, err := r.judge(ctx, m, body, func(ctx context.Context, d *engine.Definition) (_ *engine.Verdict, err error) {
			if w == nil {
				out = kubeserver.BodyAndValidateVerdict{}
				out.BodyVerdict, err = kubeserver.Body(ctx, d, m.GetVersion(), body, b.options.forServer())
			} else {
				out, err = kubeserver.BodyAndValidate(ctx, d, w, b.options.forServer())
			}
			return out.Verdict, err
		})
		if err != nil {
			return nil, err
		}
		message, err := b.verdict(v)
		if err != nil {
			return nil, err
		}
		result := &crdevalv1.DecodeBodyResult{Result: &crdevalv1.DecodeBodyResult_Decoded{Decoded: &crdevalv1.DecodedBody{
			Verdict: message, StrictErrors: allValid(out.StrictErrors), ValidateAccepts: out.ValidateAccepts,
			ReadsAsWritten: out.ReadsAsWritten,
		}}}
		return result, b.budget.take(encodedSize(result))
	},
	fail: func(st *statusv1.Status) *crdevalv1.DecodeBodyResult {
		return &crdevalv1.DecodeBodyResult{Result: &crdevalv1.DecodeBodyResult_Error{Error: st}}
	},
}

// bodyWrite returns the body of an item, and its write, nil if it is unknown.
func bodyWrite(origins call.Origins, m *crdevalv1.BodyItem) (engine.ObjectWrite, engine.Document, error) {
	switch o := m.GetWrite().(type) {
	case *crdevalv1.BodyItem_Body:
		body, err := givenRequired(origins, "body", o.Body)
		return nil, body, err
	case *crdevalv1.BodyItem_Create:
		c, err := creationOf(origins, m, o.Create)
		return c, c.Object, err
	case *crdevalv1.BodyItem_Update:
		u, _, err := updateOf(origins, m, o.Update)
		return u, u.Object, err
	}
	return nil, engine.Document{}, invalid("write", "the item has no body: set body, create or update")
}

// validatingDecoded is the evaluator of ValidateDecoded.
var validatingDecoded = evaluator[*crdevalv1.DecodedItem, crdevalv1.ValidateDecodedResult]{
	evaluate: func(
		b *batch, ctx context.Context, r *resolver, m *crdevalv1.DecodedItem,
	) (*crdevalv1.ValidateDecodedResult, error) {
		w, typed, err := decodedWrite(r.origins, m)
		if err != nil {
			return nil, err
		}
		var out kubeserver.ValidateVerdict
		v, err := r.judge(ctx, m, typed, func(ctx context.Context, d *engine.Definition) (_ *engine.Verdict, err error) {
			out, err = kubeserver.Validate(ctx, d, w, b.options.forServer())
			return out.Verdict, err
		})
		if err != nil {
			return nil, err
		}
		message, err := b.verdict(v)
		if err != nil {
			return nil, err
		}
		result := &crdevalv1.ValidateDecodedResult{Result: &crdevalv1.ValidateDecodedResult_Validated{
			Validated: &crdevalv1.ValidatedObject{Verdict: message, ReadsAsWritten: out.ReadsAsWritten},
		}}
		return result, b.budget.take(encodedSize(result))
	},
	fail: func(st *statusv1.Status) *crdevalv1.ValidateDecodedResult {
		return &crdevalv1.ValidateDecodedResult{Result: &crdevalv1.ValidateDecodedResult_Error{Error: st}}
	},
}

// decodedWrite returns the write of an item, and the document with the kind of the custom resource.
func decodedWrite(origins call.Origins, m *crdevalv1.DecodedItem) (engine.ObjectWrite, engine.Document, error) {
	switch o := m.GetWrite().(type) {
	case *crdevalv1.DecodedItem_Create:
		c, err := creationOf(origins, m, o.Create)
		return c, c.Object, err
	case *crdevalv1.DecodedItem_Update:
		return updateOf(origins, m, o.Update)
	}
	return nil, engine.Document{}, invalid("write", "the item has no write: set create or update")
}

// GetOpenApiModels returns one OpenAPI document of all versions of a CRD.
func (s *apiServerService) GetOpenApiModels(
	ctx context.Context, r *crdevalv1.GetOpenApiModelsRequest,
) (*crdevalv1.GetOpenApiModelsResponse, error) {
	if err := required("crd", r.GetCrd()); err != nil {
		return nil, err
	}
	view, err := s.evaluation.registry.View(ctx, r.GetCatalog(), r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	crd, err := view.DescribeCRD(r.GetCrd(), r.GetRevision())
	if err != nil {
		return nil, err
	}
	var document *publish.OpenAPIDocument
	if err := s.evaluation.scheduler.Do(ctx, func(work context.Context) (err error) {
		document, err = s.evaluation.limits.openAPI(ctx).Models(work, crd)
		return err
	}); err != nil {
		return nil, err
	}
	return &crdevalv1.GetOpenApiModelsResponse{Document: JSON(document.JSON), Revision: crd.Revision},
		s.evaluation.limits.checkResponse("the OpenAPI document", len(document.JSON))
}

// GetFieldManagement returns what server-side apply needs of a CRD.
func (s *apiServerService) GetFieldManagement(
	ctx context.Context, r *crdevalv1.GetFieldManagementRequest,
) (*crdevalv1.GetFieldManagementResponse, error) {
	if err := required("crd", r.GetCrd()); err != nil {
		return nil, err
	}
	view, err := s.evaluation.registry.View(ctx, r.GetCatalog(), r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	d, err := view.Named(ctx, r.GetCrd(), r.GetRevision())
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, v := range d.Versions() {
		if r.GetVersion() == "" && v.Served {
			versions = append(versions, v.Name)
		}
	}
	if r.GetVersion() != "" {
		versions = []string{r.GetVersion()}
	}
	m := &crdevalv1.GetFieldManagementResponse{Revision: d.Revision()}
	for _, version := range versions {
		management, err := kubeserver.FieldManagementOf(d, version)
		if err != nil {
			return nil, (&subject{catalog: r.GetCatalog(), definition: d, version: version}).addVersion(err)
		}
		m.Versions = append(m.Versions, &crdevalv1.VersionFieldManagement{
			ApiVersion: management.APIVersion, ResetFields: convertAll(management.ResetFields, resetFields),
		})
		m.ReplicasPaths = convertAll(management.ReplicasPaths, replicasPath) // equal for all versions
	}
	return m, nil
}

func resetFields(f *kubeserver.ResetFields) *crdevalv1.ResetFields {
	return &crdevalv1.ResetFields{Subresource: f.Subresource, ApiVersion: f.APIVersion, Fields: JSON(f.Fields)}
}

func replicasPath(p *kubeserver.ReplicasPath) *crdevalv1.ReplicasPath {
	return &crdevalv1.ReplicasPath{ApiVersion: p.APIVersion, Fields: allValid(p.Fields)}
}
