package tests

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/internal/casefile"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// admitted sends the whole write. Its verdict is that of Validate, the stored object is that of the reference, and gRPC
// and REST return the same.
func (s *server) admitted(t *testing.T, catalog string, items []*crdevalv1.WriteItem, validated *crdevalv1.ValidateResponse, head string, body []byte, want *casefile.Answer) {
	t.Helper()
	ctx := context.Background()
	const version = `,"resourceVersion":"1"`
	expected := want.Object // of the strategy; the storage keeps no resourceVersion
	if len(expected) > 0 {
		expected = bytes.Replace([]byte(canonical(expected)), []byte(version), nil, 1)
	}
	if items[0].GetCreate() != nil {
		// Creations with a resourceVersion are rejected. Spaces keep the positions of the other fields.
		item, ok := proto.Clone(items[0]).(*crdevalv1.WriteItem)
		if !ok {
			t.Fatal("a clone has another type")
		}
		blank := []byte(strings.Repeat(" ", len(version)))
		item.GetCreate().Object = document(bytes.Replace(item.GetCreate().GetObject().GetJson(), []byte(version), blank, 1))
		items, body = []*crdevalv1.WriteItem{item}, bytes.Replace(body, []byte(version), blank, 1)
	}
	admitted, err := s.evaluation.Admit(ctx, &crdevalv1.AdmitRequest{Context: &crdevalv1.EvaluationContext{Catalog: catalog}, Items: items})
	if err != nil {
		t.Fatal(err)
	}
	verdict := admitted.GetResults()[0].GetVerdict()
	verdictBehind(verdict, head)
	same(t, admitted, s.post(t, "/v1/catalogs/"+catalog+":admit", body))
	if verdict.GetAllowed() && len(want.Errors) == 0 && len(expected) > 0 {
		stored := verdict.GetStoredObject().GetJson()
		if stored == nil {
			stored = verdict.GetObject().GetJson()
		}
		if canonical(stored) != canonical(expected) {
			t.Errorf("stored %s\nwant   %s", canonical(stored), canonical(expected))
		}
	}
	plain, ok := proto.Clone(verdict).(*crdevalv1.Verdict)
	if !ok {
		t.Fatal("a clone of another type")
	}
	plain.Object, plain.StoredObject, plain.Deletes, plain.Unchanged = nil, nil, false, false
	if r := plain.GetRejection(); r.GetCode() == 409 || r != nil && len(plain.GetViolations()) > 0 && plain.GetViolations()[0].GetStep() == crdevalv1.PipelineStep_PIPELINE_STEP_REQUEST {
		return // by the storage, before the strategy that Validate runs
	}
	if before := validated.GetResults()[0].GetVerdict(); !proto.Equal(plain, before) {
		t.Errorf("admitted  %v\nvalidated %v", plain, before)
	}
}
