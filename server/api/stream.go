package api

import (
	"google.golang.org/grpc"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// AdmitStream answers the verdict on each of any number of writes.
func (s *evaluationService) AdmitStream(g grpc.BidiStreamingServer[crdevalv1.AdmitStreamRequest, crdevalv1.AdmitStreamResponse]) error {
	return s.faults.call(g.Context(), unavailable(crdevalv1.Feature_FEATURE_STREAMS, "AdmitStream"))
}

// ReadStream answers each of any number of objects as an API server reads it from its storage.
func (s *evaluationService) ReadStream(g grpc.BidiStreamingServer[crdevalv1.ReadStreamRequest, crdevalv1.ReadStreamResponse]) error {
	return s.faults.call(g.Context(), unavailable(crdevalv1.Feature_FEATURE_STREAMS, "ReadStream"))
}
