package api

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// AdmitStream answers the verdict on each of any number of writes.
func (s *evaluationService) AdmitStream(g grpc.BidiStreamingServer[crdevalv1.AdmitStreamRequest, crdevalv1.AdmitStreamResponse]) error {
	return serveStream(s, g, streaming[*crdevalv1.AdmitStreamRequest, admitted]{
		receive: g.Recv,
		begin: func(b *batch, first *crdevalv1.AdmitStreamRequest) error {
			return b.takeAdmission(first.GetStage(), first.GetInclude())
		},
		late: func(m *crdevalv1.AdmitStreamRequest) bool {
			return m.GetStage() != crdevalv1.AdmissionStage_ADMISSION_STAGE_UNSPECIFIED || m.GetInclude() != nil
		},
		evaluate: (*batch).admit,
		fail:     func(at *admitted, st *statusv1.Status) { at.fail(st) },
		result:   func(at *admitted) proto.Message { return &at.result },
		send: func(first int64, slots []admitted) error {
			m := &crdevalv1.AdmitStreamResponse{FirstIndex: first, Results: make([]*crdevalv1.VerdictResult, len(slots))}
			for i := range slots {
				m.Results[i] = &slots[i].result
			}
			return g.Send(m)
		},
	})
}

// ReadStream answers each of any number of objects as an API server reads it from its storage.
func (s *evaluationService) ReadStream(g grpc.BidiStreamingServer[crdevalv1.ReadStreamRequest, crdevalv1.ReadStreamResponse]) error {
	return serveStream(s, g, streaming[*crdevalv1.ReadStreamRequest, transformed]{
		receive: g.Recv,
		begin: func(b *batch, first *crdevalv1.ReadStreamRequest) error {
			b.options.TargetVersion = first.GetTargetVersion()
			return b.takeInclude(first.GetInclude())
		},
		late: func(m *crdevalv1.ReadStreamRequest) bool { return m.GetTargetVersion() != "" || m.GetInclude() != nil },
		evaluate: func(b *batch, ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, at *transformed) error {
			return b.transform(ctx, r, m, (*engine.Definition).Read, at)
		},
		fail:   func(at *transformed, st *statusv1.Status) { at.fail(st) },
		result: func(at *transformed) proto.Message { return &at.result },
		send: func(first int64, slots []transformed) error {
			m := &crdevalv1.ReadStreamResponse{FirstIndex: first, Results: make([]*crdevalv1.TransformResult, len(slots))}
			for i := range slots {
				m.Results[i] = &slots[i].result
			}
			return g.Send(m)
		},
	})
}

// streaming is what the streams differ in. M is the message that they take, S the place of a result.
type streaming[M streamed, S any] struct {
	receive  func() (M, error)
	begin    func(b *batch, first M) error // reads the options that others do not have
	late     func(M) bool                  // whether a message has some of them
	evaluate func(b *batch, ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, at *S) error
	fail     func(at *S, st *statusv1.Status)
	result   func(at *S) proto.Message
	send     func(first int64, slots []S) error
}

// streamed is a message to a stream.
type streamed interface {
	evaluation
	proto.Message
}
